export { createFairLock, type StandaloneFairLock, type Warn } from './create-fair-lock.js';
export type { FairLockModuleOptions } from '../setup/options.js';

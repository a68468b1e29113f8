export * from '../setup/public.js';
export { createFairLock, type StandaloneFairLock, type Warn } from './create-fair-lock.js';

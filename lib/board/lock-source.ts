import { type FairLockService } from '../core/fair-lock-service.js';

/** What the board needs of the locks. */
export type LockSource = Pick<FairLockService, 'query' | 'inspect' | 'forceRelease'>;

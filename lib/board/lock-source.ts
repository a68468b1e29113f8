import { type FairLockService } from '../nest/fair-lock.service.js';

/** What the board asks of the locks. */
export type LockSource = Pick<FairLockService, 'query' | 'inspect' | 'forceRelease'>;

import { type FairLockService } from '../core/engine/fair-lock-service.js';

/** The part of the service that the board uses. */
export type LockSource = Pick<FairLockService, 'query' | 'inspect' | 'forceRelease'>;

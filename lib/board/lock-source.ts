import { type LockOverview } from '../core/lock-overview.js';
import { type LockSnapshot } from '../core/lock-store.js';

/** What the board needs of a `FairLockService`. */
export interface LockSource {
  query(): Promise<LockOverview>;
  inspect(key: string): Promise<LockSnapshot>;
  forceRelease(key: string, options: { token: number }): Promise<boolean>;
}

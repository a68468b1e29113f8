import type { Share } from '../options/sharing.js';
import type { Lease } from './lease.js';

/** One attempt to lock one key. */
export interface LockRequest {
  readonly key: string;
  /** Milliseconds to stay in the queue, for all keys of its call together; 0 tries once without queueing; `Infinity` waits forever. */
  readonly waitTime: number;
  /** Milliseconds of a fixed lease that is never renewed; absent: the watchdog renews. */
  readonly leaseTime?: number | undefined;
  /** How many requests may wait before a new one is rejected; `Infinity`: no bound. */
  readonly maxQueue: number;
  /** With whom it may hold the lock at the same time. Absent: it holds the lock alone; a plain lock, or a writer. */
  readonly share?: Share | undefined;
  /** The lock may be kept after the hold (`Grant.release`), or have its lease fixed (`Grant.fix`): it shares its grant with no other request. Absent: false. */
  readonly alone?: boolean;
  /** Name of the caller, for display: `OrdersService.pay`. At most 128 characters are kept. */
  readonly label: string;
}

/** The right to a lock, until released or lost. */
export interface Grant {
  readonly key: string;
  /**
   * Fencing token: rises with every grant of the key. Absent if `LockStore.fencing` is false, and for a shared grant: grants that hold
   * at the same time cannot fence one another.
   */
  readonly token: number | undefined;
  /** The state of the grant (held, uncertain or lost) by this process's own clocks. */
  readonly lease: Lease;
  /** Milliseconds between joining the queue and the grant. */
  readonly waited: number;
  /**
   * It has a fixed lease of `leaseTime` ms from now on, as if it had been asked for with it, and is not renewed any more. Resolves when the
   * store has noted that; a grant that has ended meanwhile is lost.
   *
   * @throws LockStoreUnavailableError, LockNotReplicatedError
   */
  fix(leaseTime: number): Promise<void>;
  /**
   * Gives the lock to the next in the queue; with `keep`, a number of ms, not before that time has elapsed, counted from the grant by the
   * store's clock. A lost grant is not kept. Idempotent, never rejects: a server that cannot be reached is retried in the
   * background until the lease expires, after which the server passes the lock on.
   * Resolves when the server acknowledged it, at the latest after the store's command deadline.
   */
  release(keep?: number): Promise<void>;
}

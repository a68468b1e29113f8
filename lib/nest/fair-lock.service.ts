import { type AcquireOptions } from '../core/acquire-options.js';
import { type FairLock, type ScopedLock } from '../core/fair-lock.js';
import { type LockEngine } from '../core/lock-engine.js';
import { type ForceReleaseOptions } from '../core/force-release.js';
import { type LockOverview, type LockQuery } from '../core/lock-overview.js';
import { type LockSnapshot, type StoreHealth } from '../core/lock-store.js';

/**
 * Locks by hand, where a decorator does not fit.
 *
 * Requests are served in the order in which they were made, over all processes that use the same Redis and key prefix.
 * Several keys are taken together, without duplicates, in one global order, so that two callers never block each other.
 *
 * What every method that waits may throw:
 * - `LockTimeoutError` (423): `waitTime` was over; the request is out of the line
 * - `LockAbortedError`: `signal` aborted, or the client of the running request went away
 * - `LockQueueFullError` (503): `maxQueue` requests wait already
 * - `LockStoreUnavailableError` (503): Redis did not answer a new request within `commandTimeout`
 * - `LockShuttingDownError` (503): the application is closing
 * - `LockDeadlockError`, `LockKeyError`, `LockConfigurationError` (500): a mistake in the call
 *
 * @example
 * await this.locks.withLock('order:42', async (lock) => {
 *   await this.orders.pay(42, { fence: lock.token });
 * });
 */
export class FairLockService {
  /** @internal Nest makes it. */
  constructor(
    private readonly engine: LockEngine,
    /** @internal What a caller learns when its lock was lost: the module's option of this name. */
    readonly onLost: 'signal' | 'reject',
    /** @internal Milliseconds after which a hold is to end: the module's option of this name. */
    readonly maxHold: number,
  ) {}

  /**
   * Runs `section` while holding the lock, and resolves with its result once the lock is given back.
   *
   * Inside, the same flow may lock the same keys again without waiting for itself. An error of `section` passes
   * through untouched, and so does its result: giving the lock back never replaces them.
   *
   * @throws LockLostError if the lock was lost before the section could begin, as when the process stood still; and with
   * `onLost: 'reject'`, if it was lost meanwhile
   */
  withLock<T>(
    keys: string | readonly string[],
    section: (lock: FairLock) => Promise<T> | T,
    options?: AcquireOptions,
  ): Promise<T> {
    return this.engine.withLock(keys, section, options);
  }

  /**
   * Waits for the lock and hands it over; give it back with `release()`, or let `await using` do it.
   *
   * A hold acquired this way does not make what follows in the same flow reentrant: that takes `withLock`, or the same
   * `owner`.
   *
   * @example
   * await using lock = await this.locks.acquire('order:42');
   */
  acquire(keys: string | readonly string[], options?: AcquireOptions): Promise<FairLock> {
    return this.engine.acquire(keys, options);
  }

  /** As `acquire`, without waiting: undefined if a key is held or has waiters. */
  tryAcquire(keys: string | readonly string[], options?: AcquireOptions): Promise<FairLock | undefined> {
    return this.engine.tryAcquire(keys, options);
  }

  /**
   * As `acquire`, for work that is not one function call, such as a stream: whatever `lock.run` runs is inside the
   * hold, so that there a request for the same keys does not wait for itself.
   */
  open(keys: string | readonly string[], options?: AcquireOptions): Promise<ScopedLock> {
    return this.engine.open(keys, options);
  }

  /**
   * The hold that the running flow is inside of: the one on `key`, without `key` the innermost. Undefined outside.
   *
   * @example
   * @FairLocked('order:<0>')
   * async pay(id: string) {
   *   const fence = this.locks.current()?.token;
   * }
   */
  current(key?: string): FairLock | undefined {
    return this.engine.current(key);
  }

  /**
   * The locks of all processes that use the same Redis and key prefix, at about one moment: who holds, who waits, for how
   * long, behind whom, and which flows wait for each other. Every process is asked for its own; one that does not answer
   * in time is named in `silent`. Costs nothing while it is not called. See docs/observability.md.
   *
   * @throws LockStoreUnavailableError when Redis cannot be reached
   * @throws LockConfigurationError or LockKeyError for a query that cannot work
   */
  query(query?: LockQuery): Promise<LockOverview> {
    return this.engine.query(query);
  }

  /**
   * Whether locks can be had at the moment: one command to Redis. For health checks; `nestjs-fair-lock/terminus` has an
   * indicator. Never rejects.
   */
  health(): Promise<StoreHealth> {
    return this.engine.health();
  }

  /** Who holds `key`, and who waits for it. */
  inspect(key: string): Promise<LockSnapshot> {
    return this.engine.inspect(key);
  }

  /** Whether `key` is held, in this process or another. The answer may be outdated when it arrives. */
  isLocked(key: string): Promise<boolean> {
    return this.engine.isLocked(key);
  }

  /**
   * Takes `key` from its holder and gives it to the next in line; false if it was free. The holder is notified that the
   * lock is lost, but its section may still run for a moment: only a fencing token keeps its late writes out.
   *
   * @throws LockHolderChangedError if `token` is given and another holder has the lock by now; nothing is changed then
   */
  forceRelease(key: string, options?: ForceReleaseOptions): Promise<boolean> {
    return this.engine.forceRelease(key, options);
  }
}

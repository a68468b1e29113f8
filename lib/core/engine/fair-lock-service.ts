import { checkOptions, type AcquireOptions, type CheckedOptions } from '../options/acquire-options.js';
import type { Holds } from '../holds/holds.js';
import { detached } from '../runtime/async-context.js';
import { callSiteOf, type CallSite } from '../runtime/call-site.js';
import { printAs } from '../runtime/printing.js';
import { emit } from '../diagnostics/diagnostics.js';
import { LockShuttingDownError, LockTimeoutError } from '../errors/errors.js';
import type { FairLock } from '../holds/fair-lock.js';
import { Candidate, type LeadOptions, type Leadership, type LeadershipParts } from './leadership.js';
import { namedGrant, type ForceReleaseOptions } from './force-release.js';
import { currentScope, LockHandle, openLocks } from '../holds/lock-handle.js';
import { requireKey, type LockKeys } from '../options/lock-keys.js';
import { requireSection } from '../options/refusals.js';
import type { LockOverview, LockQuery } from '../query/lock-overview.js';
import type { LockSnapshot, StoreHealth } from '../port/lock-store.js';
import type { Observer } from '../query/observer.js';
import { Call } from '../waits/call.js';

/** The parts of an engine that the service uses. */
export interface ServiceParts extends LeadershipParts {
  readonly holds: Holds;
  readonly observer: Observer;
}

const NO_OPTIONS: AcquireOptions = Object.freeze({});

/** A process that serves no new calls must get no more requests, whatever Redis says. */
const CLOSING: StoreHealth = {
  ...{ reachable: false, listening: false, closing: true },
  problem: 'The process is closing and rejects new calls for locks.',
};

/**
 * Locks from code, where a decorator does not fit.
 *
 * Requests are served in the order in which they were made, over all processes that use the same Redis and key prefix.
 * Several keys are locked in one call, without duplicates and in one global order, so two callers never block each other.
 *
 * Every method that waits can throw:
 * - `LockTimeoutError` (423): `waitTime` elapsed; the request has left the queue
 * - `LockAbortedError`: `signal` aborted, or the client of the running request went away
 * - `LockQueueFullError` (503): `maxQueue` requests are already waiting
 * - `LockStoreUnavailableError` (503): Redis did not respond to a new request within `commandTimeout`
 * - `LockShuttingDownError` (503): the application is closing
 * - `LockDeadlockError`, `LockKeyError`, `LockConfigurationError` (500): a mistake in the call
 *
 * @example
 * await this.locks.withLock('order:42', async (lock) => {
 *   await this.orders.pay(42, { fence: lock.token });
 * });
 */
export class FairLockService {
  /** Checked options, by object. Only frozen options, such as a decorator's, are kept here and checked once. */
  private readonly checked = new WeakMap<AcquireOptions, CheckedOptions>();

  /** @internal The engine makes it. */
  constructor(private readonly parts: ServiceParts) {}

  /** @internal The module's option: how the caller of a section learns of a loss. */
  get onLost(): 'signal' | 'reject' {
    return this.parts.defaults.onLost;
  }

  /** @internal Whether its engine is closed, so that every call fails. */
  get isClosed(): boolean {
    return this.parts.shutdown.closed;
  }

  /** @internal For those who print it. */
  get facts(): object {
    const { holds, shutdown } = this.parts;
    return { held: holds.present().length, closed: shutdown.closed };
  }

  /** @internal Milliseconds after which a hold should end: the module's option of this name. */
  get maxHold(): number {
    return this.parts.defaults.maxHold;
  }

  /**
   * Runs `section` while holding the lock, and resolves with its result after the release.
   *
   * Inside, the same flow can lock the same keys again without waiting for itself. An error of `section` passes
   * through untouched, and so does its result, unless it would work after the release: an Observable, a generator, a stream.
   *
   * @throws LockLostError if the lock was lost before the section could begin, for example because the process was stopped; and with
   * `onLost: 'reject'`, if it was lost while the section ran
   */
  async withLock<T>(
    keys: LockKeys,
    section: (lock: FairLock) => Promise<T> | T,
    options?: AcquireOptions,
  ): Promise<T> {
    requireSection(section, 'withLock', 'withLock(key, () => work(), options)');
    const call = this.newCall(options);
    const lock = new LockHandle(call, await this.parts.acquirer.take(keys, call));
    let result: T;
    try {
      this.requireHeld(lock);
      // A lazy query (Prisma, Knex) begins when it is awaited, and that must happen inside the hold.
      result = await lock.enter(() => Promise.resolve(section(lock)), 'The function of withLock');
    } finally {
      await lock.release();
    }
    if (call.options.onLost === 'reject' && lock.lostError) throw lock.lostError;
    return result;
  }

  /**
   * Waits for the lock and returns its handle; release it with `release()`, or use `await using`.
   *
   * For work that is not one function call. The code after it is not inside the hold: use `lock.run`, or `withLock`, for that.
   *
   * @throws LockLostError if the lock was lost before the call could return, for example because the process was stopped
   *
   * @example
   * await using lock = await this.locks.acquire('order:42');
   * await lock.run(() => this.orders.pay(42, { fence: lock.token }));
   */
  async acquire(keys: LockKeys, options?: AcquireOptions): Promise<FairLock> {
    return await this.take(keys, this.newCall(options), this.siteOf(options, 'acquire'));
  }

  /** Like `acquire`, but returns undefined instead of waiting if a key is held or has waiters. */
  async tryAcquire(keys: LockKeys, options?: AcquireOptions): Promise<FairLock | undefined> {
    try {
      return await this.take(keys, this.newCall(options, true), this.siteOf(options, 'tryAcquire'));
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    }
  }

  /**
   * Campaigns for leadership: of all processes that call it with the same key, one at a time runs `section`, in the order in which they joined.
   * Returns immediately, so that the boot does not wait for an election.
   *
   * `section` runs outside of the caller's flow, inside the hold. When it returns, this process has resigned for good. When it throws, one
   * warning is logged, and the process rejoins the queue after 1 s, doubled with each further failure up to 30 s. When the lock is lost,
   * `lock.signal` aborts, and the process rejoins the queue once `section` has ended. When the application closes, or `stop()` is called,
   * `lock.signal` aborts, and the lock is released once `section` has ended.
   *
   * Neither the wait nor the hold counts as slow (`slowWait`, `slowHold`). See docs/recipes/leader.md.
   *
   * @throws LockKeyError, LockConfigurationError for a mistake in the call
   *
   * @example
   * this.leadership = this.locks.lead('scheduler', async (lock) => {
   *   while (!lock.signal.aborted) await this.tick(lock.signal);
   * });
   */
  lead(key: string, section: (lock: FairLock) => unknown, options: LeadOptions = {}): Leadership {
    return new Candidate(this.parts, key, section, options);
  }

  /**
   * The handle of the lock that the current code holds: the one on `key`, or without `key` the innermost one. Undefined outside of holds.
   *
   * @example
   * @FairLocked('order:<0>')
   * async pay(id: string) {
   *   const fence = this.locks.current()?.token;
   * }
   */
  current(key?: string): FairLock | undefined {
    const { store, holds } = this.parts;
    const encoded = key === undefined ? undefined : store.encode(requireKey(key));
    for (const lock of openLocks(currentScope())) {
      for (const hold of lock.holds) {
        if (hold.keeper === holds && (encoded === undefined || hold.encoded === encoded)) return lock;
      }
    }
    return undefined;
  }

  /**
   * The locks of all processes that use the same Redis and key prefix, at about one moment: who holds, who waits, for how
   * long, behind whom, and which flows wait for each other. Every process reports its own; one that does not respond
   * in time is listed in `silent`. Costs nothing unless it is called. See docs/observability.md.
   *
   * @throws LockStoreUnavailableError when Redis cannot be reached
   * @throws LockConfigurationError or LockKeyError for a query that cannot work
   */
  async query(query?: LockQuery): Promise<LockOverview> {
    return await detached(() => this.parts.observer.query(query));
  }

  /**
   * Whether locks can be taken at the moment: takes a spare lock and gives it back, in one script. Takes `commandTimeout` at most, and
   * `replicas.timeout`. For readiness checks; `nestjs-fair-lock/terminus` has an indicator. Never rejects.
   */
  health(): Promise<StoreHealth> {
    const { store, shutdown } = this.parts;
    if (shutdown.begun.aborted) return Promise.resolve({ ...CLOSING });
    return detached(() => store.health?.()) ?? Promise.resolve({ reachable: true, listening: true });
  }

  /** Who holds `key`, and who waits for it. */
  async inspect(key: string): Promise<LockSnapshot> {
    requireKey(key);
    return await detached(() => this.parts.store.inspect(key));
  }

  /** Whether `key` is held, in this process or another, or kept by `holdAtLeast`. The result can be outdated when it arrives. */
  async isLocked(key: string): Promise<boolean> {
    const { holder, kept } = await this.inspect(key);
    return holder !== undefined || kept !== undefined;
  }

  /**
   * Takes `key` from its holder, or from all that share it, and gives it to the next in the queue; false if it was free. The holder is notified that the
   * lock is lost, but its section can still run for a moment: only a fencing token keeps its late writes out.
   *
   * @throws LockHolderChangedError if `token` or `holder` is given and another holder has the lock by now; then nothing is changed
   */
  async forceRelease(key: string, options?: ForceReleaseOptions): Promise<boolean> {
    const { store } = this.parts;
    requireKey(key);
    const named = namedGrant(options, store);
    const forced = await detached(() => store.forceRelease(key, named));
    if (forced) emit({ type: 'forced', key });
    return forced;
  }

  /** Waits for the keys of a call without a section. A lock that ended before its caller could have it is released here. */
  private async take(keys: LockKeys, call: Call, site: CallSite | undefined): Promise<LockHandle> {
    const lock = new LockHandle(call, await this.parts.acquirer.take(keys, call));
    try {
      this.requireHeld(lock);
    } catch (error) {
      await lock.release();
      throw error;
    }
    return lock.begin(site);
  }

  /** Where a handle without a label was asked for, if a warning may name that. */
  private siteOf(
    { label }: AcquireOptions = NO_OPTIONS,
    called: 'acquire' | 'tryAcquire',
  ): CallSite | undefined {
    const { slowHold = Infinity } = this.parts.defaults;
    return label || slowHold === Infinity ? undefined : callSiteOf(Reflect.get(this, called));
  }

  /** @throws LockShuttingDownError, LockLostError if the lock has ended that its caller does not have yet: a close releases it */
  private requireHeld(lock: LockHandle): void {
    if (this.parts.shutdown.closed) throw new LockShuttingDownError(lock.key);
    lock.assertHeld();
  }

  private newCall(options: AcquireOptions = NO_OPTIONS, isTry?: boolean): Call {
    let checked = this.checked.get(options);
    if (!checked) {
      checked = checkOptions(options, this.parts.defaults);
      // Those of a decorator.
      if (Object.isFrozen(options)) this.checked.set(options, checked);
    }
    return new Call(checked, isTry);
  }
}

printAs('FairLockService', FairLockService, (service) => service.facts);

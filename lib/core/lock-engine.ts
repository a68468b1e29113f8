import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import {
  CheckedOptions,
  withSafeWarnings,
  type AcquireOptions,
  type EngineDefaults,
} from './acquire-options.js';
import { Acquirer } from './acquirer.js';
import { happened } from './diagnostics.js';
import { announce, withdraw, type LockLoad, type ObservableEngine } from './engines.js';
import { detached } from './async-context.js';
import { LockConfigurationError, LockTimeoutError } from './errors.js';
import type { FairLock } from './fair-lock.js';
import { namedToken, type ForceReleaseOptions } from './force-release.js';
import { currentScope, LockHandle, openLocks } from './lock-handle.js';
import { ActiveGrants } from './active-grants.js';
import type { LockOverview, LockQuery } from './lock-overview.js';
import type { LockSnapshot, LockStore, StoreHealth } from './lock-store.js';
import { Observer } from './observer.js';
import { Owners } from './owners.js';
import { requireKey } from './lock-keys.js';
import { Reporter } from './reporter.js';
import { watchForSlow } from './slow-warnings.js';
import { AcquireCall, Waits } from './waits.js';
import { Watchdog } from './watchdog.js';

const NO_OPTIONS: AcquireOptions = Object.freeze({});

/**
 * Locks on several keys, nesting and shutdown, on top of a store that keeps the line of one lock.
 *
 * The owner of a lock is the async flow: a request made inside a section, for a key that the section holds, is nested
 * in it and costs the store nothing. `Hold` describes what that means when flows fork.
 */
export class LockEngine implements ObservableEngine {
  private readonly defaults: EngineDefaults;
  private readonly watchdog = new Watchdog();
  private readonly grants: ActiveGrants;
  private readonly waits: Waits;
  private readonly acquirer: Acquirer;
  private readonly reporter: Reporter;
  private readonly observer: Observer;
  /** Options that are frozen, as those of a decorator are, are checked once. */
  private readonly checked = new WeakMap<AcquireOptions, CheckedOptions>();
  private closing: Promise<void> | undefined;

  constructor(
    private readonly store: LockStore,
    defaults: EngineDefaults,
  ) {
    this.defaults = withSafeWarnings(defaults);
    const warn = this.defaults.onWarning;
    const owners = new Owners();
    this.grants = new ActiveGrants(this.watchdog, owners, warn);
    this.waits = new Waits(this.watchdog, owners, this.grants, defaults.drainTimeout);
    this.acquirer = new Acquirer(store, owners, this.grants, this.waits);
    const self = store.peers?.self ?? { clientId: randomUUID(), host: hostname(), pid: process.pid };
    this.reporter = new Reporter(self, this.waits, this.grants, owners);
    this.observer = new Observer(store, (question) => this.reporter.report(question));
    watchForSlow(this.defaults, this.watchdog, this.waits, this.grants, this.observer);
  }

  /** Connects the store; resolves also when its server is away (then it warns). */
  async start(): Promise<void> {
    announce(this);
    await detached(() => this.store.start());
  }

  /**
   * Waits in line for all keys and holds them until `release()`.
   *
   * Inside a section that holds the key it nests in the section's hold. It is no scope itself: a further request of the
   * same flow does not nest in it (`withLock` or `owner` makes it so).
   *
   * @throws LockTimeoutError when `waitTime` is over
   * @throws LockAbortedError when the caller's signal aborts, or its client goes away, while in line
   * @throws LockQueueFullError when `maxQueue` requests wait already
   * @throws LockDeadlockError when waiting could never end
   * @throws LockLostError when it would nest in a hold that is lost
   * @throws LockShuttingDownError when the application is closing
   * @throws LockStoreUnavailableError when the store does not serve
   * @throws LockKeyError or LockConfigurationError, before anything is queued, for a call that cannot work
   */
  async acquire(keys: string | readonly string[], options?: AcquireOptions): Promise<FairLock> {
    const call = this.newCall(options);
    return new LockHandle(call.scope, await this.acquirer.take(keys, call)).begin();
  }

  /** As `acquire`, without waiting: undefined when the lock is busy, be it with another branch of the same flow. */
  async tryAcquire(
    keys: string | readonly string[],
    options?: AcquireOptions,
  ): Promise<FairLock | undefined> {
    const call = this.newCall(options, 0);
    try {
      return new LockHandle(call.scope, await this.acquirer.take(keys, call)).begin();
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    }
  }

  /**
   * Runs `section` while it holds the keys, and gives them back when it has ended. Its result and its error pass
   * through; only `onLost: 'reject'` puts the LockLostError in place of a result.
   *
   * @throws what `acquire` throws, and LockLostError when the lock was lost before the section could begin
   */
  async withLock<T>(
    keys: string | readonly string[],
    section: (lock: FairLock) => Promise<T> | T,
    options?: AcquireOptions,
  ): Promise<T> {
    if (typeof section !== 'function') {
      throw new LockConfigurationError('withLock needs a function to run while the lock is held.');
    }
    const call = this.newCall(options);
    const lock = new LockHandle(call.scope, await this.acquirer.take(keys, call));
    let result: T;
    try {
      lock.assertHeld();
      result = await lock.run(() => section(lock));
    } finally {
      await lock.release();
    }
    if (call.options.onLost === 'reject' && lock.lostError) throw lock.lostError;
    return result;
  }

  /** As `acquire`, with a scope that can be entered again and again. */
  async open(keys: string | readonly string[], options?: AcquireOptions): Promise<LockHandle> {
    const call = this.newCall(options);
    return new LockHandle(call.scope, await this.acquirer.take(keys, call));
  }

  /** The innermost section, of those that hold `key`, that the running flow is inside of; of all, without a key. */
  current(key?: string): FairLock | undefined {
    const encoded = key === undefined ? undefined : this.store.encode(requireKey(key));
    for (const lock of openLocks(currentScope())) {
      for (const { held } of lock.holds) {
        if (held.keeper === this.grants && (encoded === undefined || held.encoded === encoded)) return lock;
      }
    }
    return undefined;
  }

  /** Who holds `key`, and who waits. */
  async inspect(key: string): Promise<LockSnapshot> {
    return await detached(() => this.observer.inspect(key));
  }

  async isLocked(key: string): Promise<boolean> {
    requireKey(key);
    return (await detached(() => this.store.inspect(key))).holder !== undefined;
  }

  /** Whether the store can serve at the moment. Never rejects. */
  health(): Promise<StoreHealth> {
    return detached(() => this.store.health?.()) ?? Promise.resolve({ reachable: true, listening: true });
  }

  /** The holds and waits of all processes. */
  async query(query?: LockQuery): Promise<LockOverview> {
    return await detached(() => this.observer.query(query));
  }

  /** Takes `key` from its holder, whose lock is lost then, and gives it to the next in line; false if it was free. */
  async forceRelease(key: string, options?: ForceReleaseOptions): Promise<boolean> {
    requireKey(key);
    const token = namedToken(options, this.store);
    const forced = await detached(async () => {
      if (token !== undefined) await this.observer.refuseHandedOn(key, token);
      return await this.store.forceRelease(key, token);
    });
    if (forced) happened({ type: 'forced', key });
    return forced;
  }

  /**
   * Requests outside a hold are refused with a LockShuttingDownError, both those in line and new ones; a flow that holds
   * a lock may still join a line. After `drainTimeout` the remaining waiters are refused too, and the signals of the
   * remaining holds abort. Idempotent.
   */
  beginShutdown(): void {
    this.waits.beginShutdown();
  }

  /** Resolves when nothing is held any more, or `drainTimeout` after `beginShutdown`; at the latest by `close`. */
  async drain(): Promise<void> {
    await this.waits.drain();
  }

  /** Aborts the signals of the remaining holds, gives them back, and closes the store. Never rejects; idempotent. */
  close(): Promise<void> {
    return (this.closing ??= detached(() => this.giveUpAll()));
  }

  /** How many wait and hold, by the name under which metrics count the lock. */
  load(): ReadonlyMap<string, LockLoad> {
    return this.reporter.load();
  }

  private async giveUpAll(): Promise<void> {
    this.waits.close();
    this.watchdog.stop();
    this.reporter.stop();
    withdraw(this);
    await this.grants.releaseAll();
    try {
      await this.store.close();
    } catch (error) {
      this.defaults.onWarning('The lock store failed to close.', { error });
    }
  }

  /** @param waitTime in place of the option */
  private newCall(options: AcquireOptions = NO_OPTIONS, waitTime?: number): AcquireCall {
    let checked = this.checked.get(options);
    if (!checked) {
      checked = new CheckedOptions(options, this.defaults);
      if (Object.isFrozen(options)) this.checked.set(options, checked);
    }
    return new AcquireCall(checked, waitTime);
  }
}

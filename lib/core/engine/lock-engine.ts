import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { withPage } from '../errors/pages.js';
import { withSafeWarnings, type EngineDefaults } from '../options/acquire-options.js';
import { Acquirer } from './acquirer.js';
import { MixedKinds } from './mixed-kinds.js';
import type { Hold } from '../holds/hold.js';
import { Holds } from '../holds/holds.js';
import { detached } from '../runtime/async-context.js';
import { addLoad, engines, type LockLoad, type ObservableEngine } from './engines.js';
import { FairLockService } from './fair-lock-service.js';
import type { LockStore } from '../port/lock-store.js';
import { Observer } from '../query/observer.js';
import { Reporter } from '../query/reporter.js';
import { watchForSlow } from '../warnings/warnings.js';
import { Shutdown } from '../waits/shutdown.js';
import { Waits } from '../waits/waits.js';
import { Timers } from '../runtime/timers.js';

/**
 * The life cycle of a service: what it is made of, how it starts, and how it ends. With its parts, the service adds nesting, several keys
 * and shutdown to a store, which keeps the queue of one lock.
 *
 * A lock belongs to the async flow: a request inside a section, for a key that the section holds, is nested in it and sends
 * nothing to the store. See `Hold` for flows that fork.
 */
export class LockEngine implements ObservableEngine {
  /** What callers may do; they must not end the engine. */
  readonly service: FairLockService;
  private readonly timers = new Timers();
  private readonly waits = new Waits();
  private readonly holds: Holds;
  private readonly shutdown: Shutdown;
  private readonly warn: EngineDefaults['onWarning'];
  private closing: Promise<void> | undefined;

  constructor(
    readonly store: LockStore,
    given: EngineDefaults,
  ) {
    const defaults = withSafeWarnings(given);
    const { timers, waits } = this;
    const holds = (this.holds = new Holds(timers, defaults.onWarning, defaults.onLeft));
    const shutdown = (this.shutdown = new Shutdown(timers, waits, holds, defaults));
    const acquirer = new Acquirer(store, holds, waits, shutdown, new MixedKinds(defaults.onWarning));
    const self = store.peers?.self ?? { clientId: randomUUID(), host: hostname(), pid: process.pid };
    const reporter = new Reporter(self, waits, holds);
    const observer = new Observer(store, (query) => reporter.report(query));
    watchForSlow(defaults, timers, waits, holds, store, self);
    this.service = new FairLockService({ store, defaults, holds, acquirer, observer, shutdown, timers });
    this.warn = defaults.onWarning;
  }

  /** Connects the store; also resolves when its server is unreachable (then it warns). No effect after `close`. */
  async start(): Promise<void> {
    if (this.closing) return;
    engines.add(this);
    await detached(() => this.store.start());
  }

  /**
   * Requests outside a hold are rejected with a LockShuttingDownError, both those in the queue and new ones; a flow that holds
   * a lock may still join a queue. After `drainTimeout` the remaining waiters are rejected too, and the signals of the
   * remaining holds abort. Idempotent.
   */
  beginShutdown(): void {
    this.shutdown.begin();
  }

  /**
   * Resolves when nothing is held any more, except by a section that calls this, or `drainTimeout` after `beginShutdown`; at the latest by
   * `close`.
   */
  async drain(): Promise<void> {
    await this.shutdown.drain(this.holds.ofFlow());
  }

  /**
   * Aborts the signals of the remaining holds, gives them back when they have had the margin of an expiring lease to end, and closes the
   * store. Never rejects; idempotent.
   */
  close(): Promise<void> {
    const own = this.holds.ofFlow();
    return (this.closing ??= detached(() => this.giveUpAll(own)));
  }

  addLoad(total: Map<string, LockLoad>): void {
    addLoad(total, this.waits, this.holds);
  }

  private async giveUpAll(own: ReadonlySet<Hold>): Promise<void> {
    await this.shutdown.endAll(own);
    this.shutdown.close();
    this.timers.stop();
    engines.delete(this);
    await this.holds.releaseAll();
    try {
      await this.store.close();
    } catch (error) {
      this.warn(withPage('The connection to the lock store failed to close.', 'production#shutdown'), {
        error,
      });
    }
  }
}

import { LockShuttingDownError } from '../errors/errors.js';
import { withPage } from '../errors/pages.js';
import { duration, quote } from '../errors/text.js';
import type { Hold } from '../holds/hold.js';
import type { Holds } from '../holds/holds.js';
import type { EngineDefaults } from '../options/acquire-options.js';
import { safetyMargin } from '../port/lease.js';
import { controllerForMany } from '../runtime/abort-relay.js';
import type { TimedTask, Timers } from '../runtime/timers.js';
import type { Call } from './call.js';
import type { WaitingCall, Waits } from './waits.js';

/**
 * - `stopping`: only a flow that holds a lock may wait or join a queue; other requests are rejected.
 * - `drained`: all waits have ended, and the holders have been asked to stop. Nesting without a wait still works.
 * - `closed`: no lock is granted any more.
 */
type Phase = 'running' | 'stopping' | 'drained' | 'closed';

/** A shutdown that waits for so long (ms) says for what. */
const SAYS_WHY = 1_000;
/** It names this many locks; the rest is only counted. */
const MOST_NAMED = 5;

/** Ends the waits and the holds of an engine step by step, and decides which requests are still served until then. */
export class Shutdown implements TimedTask {
  private phase: Phase = 'running';
  private readonly beginning = controllerForMany();
  private onDrained!: () => void;
  private readonly timeUp = new Promise<void>((resolve) => (this.onDrained = resolve));
  /** When the holders were asked to stop, on the monotonic clock. */
  private askedToStop: number | undefined;
  /** A process with nothing else to do lives until the drain has ended. */
  readonly keepsAlive = true;
  private cancelDrain: (() => void) | undefined;
  private readonly report: TimedTask = { onDue: () => this.sayWhy() };

  constructor(
    private readonly timers: Timers,
    private readonly waits: Waits,
    private readonly holds: Holds,
    private readonly options: Pick<EngineDefaults, 'drainTimeout' | 'lease' | 'timer' | 'onWarning'>,
  ) {}

  /** Aborts when the shutdown begins. */
  get begun(): AbortSignal {
    return this.beginning.signal;
  }

  get closed(): boolean {
    return this.phase === 'closed';
  }

  /** No request is served any more; a grant that arrives now must be released. */
  get drained(): boolean {
    return this.phase === 'drained' || this.phase === 'closed';
  }

  /** Passes if a request of `call` may wait. @throws LockShuttingDownError */
  assertMayWait(key: string, call: Call): void {
    if (this.drained || (this.phase === 'stopping' && !call.insideHold))
      throw new LockShuttingDownError(key, call.options.label);
  }

  begin(): void {
    if (this.phase !== 'running') return;
    this.phase = 'stopping';
    for (const call of this.waits.present()) if (!call.insideHold) abandon(call);
    this.beginning.abort();
    const { drainTimeout, timer } = this.options;
    if (timer && drainTimeout < Infinity) this.cancelDrain = timer(() => this.onDue(), drainTimeout);
    else this.timers.schedule(this, performance.now() + drainTimeout);
  }

  /** Resolves when nothing is held any more but by `own`, or the drain time has elapsed. */
  async drain(own: ReadonlySet<Hold>): Promise<void> {
    if (this.drained) return;
    this.timers.schedule(this.report, performance.now() + SAYS_WHY);
    await Promise.race([this.timeUp, this.holds.empty(own)]);
    this.timers.cancel(this.report);
  }

  /** The drain time has elapsed. */
  onDue(): void {
    this.phase = 'drained';
    this.askedToStop ??= performance.now();
    this.onDrained();
    for (const call of this.waits.present()) abandon(call);
    this.beginning.abort(); // if it begins with `close`
    this.holds.interrupt();
  }

  /** The drain ends now. Resolves when nothing is held any more but by `own`, or the holders have had the margin of an expiring lease. */
  async endAll(own: ReadonlySet<Hold>): Promise<void> {
    this.onDue();
    const empty = this.holds.empty(own);
    const margins = this.holds
      .present()
      .map(({ options }) => safetyMargin(options.leaseTime ?? this.options.lease ?? 0));
    const left = (this.askedToStop ?? 0) + Math.max(0, ...margins) - performance.now();
    await new Promise<void>((resolve) => {
      // Node cuts fractions off, and the next holder must not come before the margin has passed.
      const cancel = (this.options.timer ?? byNode)(resolve, Math.ceil(left));
      void empty.then(cancel).then(resolve);
    });
  }

  close(): void {
    this.phase = 'closed';
    this.cancelDrain?.();
  }

  private sayWhy(): void {
    const holds = this.holds.present();
    const named = holds.slice(0, MOST_NAMED).map(({ key, heldFor, options }) => {
      return `${quote(key)} (${options.label ? `${options.label}, ` : ''}held for ${duration(heldFor)})`;
    });
    const more = holds.length > MOST_NAMED ? ` and ${holds.length - MOST_NAMED} more` : '';
    this.options.onWarning(
      withPage(
        `The shutdown waits for ${holds.length} lock${holds.length === 1 ? '' : 's'} to be released: ${named.join(', ')}${more}. ` +
          `When drainTimeout (${duration(this.options.drainTimeout)}) has elapsed, lock.signal aborts, and the shutdown continues.`,
        'production#shutdown',
      ),
    );
  }
}

function byNode(code: () => void, ms: number): () => void {
  const timer = setTimeout(code, ms);
  return () => clearTimeout(timer);
}

function abandon({ wait, options }: WaitingCall): void {
  wait.abort(new LockShuttingDownError(wait.key, options.label));
}

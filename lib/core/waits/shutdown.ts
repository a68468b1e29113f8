import { LockShuttingDownError } from '../errors/errors.js';
import type { Holds } from '../holds/holds.js';
import { controllerForMany } from '../runtime/abort-relay.js';
import type { TimedTask, Timers } from '../runtime/timers.js';
import type { Call } from './call.js';
import type { WaitingCall, Waits } from './waits.js';

/**
 * - `stopping`: only a flow that holds a lock may wait or join a line; other requests are refused.
 * - `drained`: all waits have ended, and the holders have been asked to stop. Nesting without a wait still works.
 * - `closed`: no lock is granted any more.
 */
type Phase = 'running' | 'stopping' | 'drained' | 'closed';

/** Ends the waits and the holds of an engine step by step, and decides which requests are still served until then. */
export class Shutdown implements TimedTask {
  private phase: Phase = 'running';
  private draining: Promise<void> | undefined;
  private onDrained: (() => void) | undefined;
  private readonly beginning = controllerForMany();

  constructor(
    private readonly timers: Timers,
    private readonly waits: Waits,
    private readonly holds: Holds,
    /** Milliseconds from `begin` until the holders are asked to stop. */
    private readonly drainTimeout: number,
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
    if (this.drained || (this.phase === 'stopping' && !call.insideHold)) throw new LockShuttingDownError(key);
  }

  begin(): void {
    if (this.phase !== 'running') return;
    this.phase = 'stopping';
    for (const call of this.waits.present()) if (!call.insideHold) abandon(call);
    this.beginning.abort();
    if (this.drainTimeout < Infinity) this.timers.schedule(this, performance.now() + this.drainTimeout);
  }

  /** Resolves when nothing is held any more, or the drain time has elapsed. */
  drain(): Promise<void> {
    return (this.draining ??= this.untilDrained());
  }

  /** The drain time has elapsed. */
  onDue(): void {
    this.phase = 'drained';
    this.onDrained?.();
    for (const call of this.waits.present()) abandon(call);
    this.beginning.abort(); // if it begins with `close`
    this.holds.interrupt();
  }

  close(): void {
    this.onDue();
    this.phase = 'closed';
  }

  private async untilDrained(): Promise<void> {
    if (this.drained) return;
    const timeUp = new Promise<void>((resolve) => (this.onDrained = resolve));
    await Promise.race([timeUp, this.holds.empty()]);
  }
}

function abandon({ wait }: WaitingCall): void {
  wait.abort(new LockShuttingDownError(wait.key));
}

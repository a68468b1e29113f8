import { Wait, type AcquireCall } from './acquire-call.js';
import { beginWait, endWait, waitChannel } from './diagnostics.js';
import { LockShuttingDownError } from './errors.js';
import type { ActiveGrants } from './active-grants.js';
import { LinkedList } from './linked-list.js';
import type { Owners } from './owners.js';
import type { SlowWatch } from './slow-watch.js';
import type { Watchdog, Watched } from './watchdog.js';

/**
 * - `stopping`: only a flow that holds a lock may wait or join a line; other requests are refused.
 * - `drained`: all waits have ended, and the holders have been asked to stop. Nesting that needs no wait still works.
 * - `closed`: no lock is granted any more.
 */
type Phase = 'running' | 'stopping' | 'drained' | 'closed';

/** All requests of an engine that wait, and how a shutdown ends their waits step by step. */
export class Waits implements Watched {
  private readonly all = new LinkedList<Wait>();
  private phase: Phase = 'running';
  /** Warns of waits that take long; undefined: they are not watched. */
  slowWatch: SlowWatch<Wait> | undefined;
  private draining: Promise<void> | undefined;
  private onDrained: (() => void) | undefined;

  constructor(
    private readonly watchdog: Watchdog,
    private readonly owners: Owners,
    private readonly grants: ActiveGrants,
    /** Milliseconds from `beginShutdown` until the holders are asked to stop. */
    private readonly drainTimeout: number,
  ) {}

  get closed(): boolean {
    return this.phase === 'closed';
  }

  /** No request is served any more; a grant that arrives now must be given back. */
  get drained(): boolean {
    return this.phase === 'drained' || this.phase === 'closed';
  }

  /** The waits that have not ended, in the order in which they began. */
  present(): Wait[] {
    return this.all.all();
  }

  /** @throws LockShuttingDownError */
  begin(key: string, call: AcquireCall): Wait {
    if (this.drained || (this.phase === 'stopping' && !this.isInsideHold(call))) {
      throw new LockShuttingDownError(key);
    }
    const wait = new Wait(key, call, this);
    if (waitChannel.hasSubscribers) wait.description = beginWait(key, call.options);
    this.all.add(wait);
    if (this.slowWatch?.armed === false) this.slowWatch.begin();
    return wait;
  }

  /** @param error absent: it was granted */
  end(wait: Wait, error?: unknown): void {
    this.all.delete(wait);
    wait.end();
    if (wait.description) endWait(wait.description, wait.takenAlong ? undefined : error);
  }

  beginShutdown(): void {
    if (this.phase !== 'running') return;
    this.phase = 'stopping';
    for (const wait of this.present()) if (!this.isInsideHold(wait.call)) this.abandon(wait);
    if (this.drainTimeout < Infinity) this.watchdog.schedule(this, performance.now() + this.drainTimeout);
  }

  /** Resolves when nothing is held any more, or the drain time is over. */
  drain(): Promise<void> {
    return (this.draining ??= this.untilDrained());
  }

  /** The drain time is over. */
  onDue(): void {
    this.phase = 'drained';
    this.onDrained?.();
    for (const wait of this.present()) this.abandon(wait);
    this.grants.interrupt();
  }

  close(): void {
    this.onDue();
    this.phase = 'closed';
  }

  /** Whether the caller is inside a hold right now. */
  isInsideHold(call: AcquireCall): boolean {
    return this.owners.keyHeldBy(call) !== undefined;
  }

  private async untilDrained(): Promise<void> {
    if (this.drained) return;
    const timeUp = new Promise<void>((resolve) => (this.onDrained = resolve));
    await Promise.race([timeUp, this.grants.empty()]);
  }

  private abandon(wait: Wait): void {
    wait.abort(new LockShuttingDownError(wait.key));
  }
}

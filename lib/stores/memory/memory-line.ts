import {
  MOST_WAITERS_SHOWN,
  type LockRequest,
  type Grant,
  type LockSnapshot,
} from '../../core/port/lock-store.js';
import type { Wait } from '../../core/port/wait.js';
import { WaitingLine } from '../../core/holds/waiting-line.js';
import { Kept } from './kept-lock.js';
import { MemoryGrant, who } from './memory-grant.js';
import { type NodeTimers } from './node-timers.js';

/** One lock: its holder and its waiters. Requests wait only while it is held or kept; otherwise the line is forgotten. */
export class MemoryLine {
  private holder: MemoryGrant | undefined;
  /** Set while nobody holds the lock and nobody gets it yet. */
  private kept: Kept | undefined;
  private readonly line: WaitingLine<Grant>;

  constructor(
    private readonly key: string,
    private readonly leaseTimers: NodeTimers,
    waitTimers: NodeTimers,
    /** Called when the lock has neither a holder nor waiters, so that the line can be forgotten. */
    private readonly onIdle: () => void,
  ) {
    this.line = new WaitingLine(waitTimers, () => {
      const kept = this.kept?.describe();
      if (kept) return { holder: kept.who, keptFor: kept.left };
      const { who: holder, heldFor } = this.holder?.describe() ?? {};
      return holder === undefined ? {} : { holder, heldFor };
    });
  }

  /**
   * Ends a lease, or a time for which the lock is kept, that is over by the clock although its timer has not fired yet (a blocked
   * event loop). Reading the state is enough: the lease notifies its holder, then `end` is called.
   */
  settle(): void {
    void this.holder?.lease.state;
    if (this.kept && this.kept.due <= performance.now()) this.endKept();
  }

  acquire(wait: Wait): Grant | Promise<Grant> {
    if (!this.holder && !this.kept) return this.grant(wait.request, 0);
    return this.line.join(wait, wait.since + wait.request.waitTime);
  }

  /** The token of the holder, or of the hold after which the lock is kept. */
  get token(): number | undefined {
    return this.holder?.token ?? this.kept?.describe().token;
  }

  forceRelease(): void {
    this.holder?.lease.lose('it was released by force');
    if (this.kept) this.endKept();
  }

  inspect(): LockSnapshot {
    const waiters = [];
    const { first, size } = this.line.waiters;
    for (let waiter = first; waiter && waiters.length < MOST_WAITERS_SHOWN; waiter = waiter.next) {
      waiters.push({ who: who(waiter.request), waitingFor: waiter.waited, live: true });
    }
    const kept = this.kept && { kept: this.kept.describe() };
    return { key: this.key, holder: this.holder?.describe(), ...kept, waiters, queueLength: size };
  }

  /** Refuses every waiter with `error`, then ends the grant. */
  close(error: Error): void {
    this.line.fail(error);
    void this.holder?.release();
    if (this.kept) this.endKept();
  }

  private grant(request: LockRequest, waited: number): MemoryGrant {
    const grant = new MemoryGrant(request, waited, this.end);
    this.holder = grant;
    // The lease aborts the signal of its holder before it calls this listener, so the next holder starts after that.
    grant.lease.onLost(() => this.end(grant));
    this.leaseTimers.schedule(grant, grant.due);
    return grant;
  }

  /** Hands the lock on, if `grant` is still the present one; but not before `keptUntil` (monotonic). */
  private readonly end = (grant: MemoryGrant, keptUntil = 0): void => {
    if (this.holder !== grant) return;
    this.holder = undefined;
    this.leaseTimers.cancel(grant);
    if (keptUntil <= performance.now()) return this.handOn();
    this.kept = new Kept(grant.describe().who, grant.token, keptUntil, () => this.endKept());
    this.leaseTimers.schedule(this.kept, keptUntil);
  };

  private endKept(): void {
    if (!this.kept) return;
    this.leaseTimers.cancel(this.kept);
    this.kept = undefined;
    this.handOn();
  }

  private handOn(): void {
    if (!this.line.serve(({ request, waited }) => this.grant(request, waited))) this.onIdle();
  }
}

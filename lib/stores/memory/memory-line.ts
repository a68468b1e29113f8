import { Held } from '../../core/port/admission.js';
import { BY_FORCE } from '../../core/port/lease.js';
import {
  MOST_SHOWN,
  type LockRequest,
  type Grant,
  type KeptLock,
  type LockHolder,
  type LockSnapshot,
} from '../../core/port/lock-store.js';
import type { Wait } from '../../core/port/wait.js';
import { WaitingLine } from '../../core/holds/waiting-line.js';
import { MemoryGrant, type GrantLine, who } from './memory-grant.js';
import { type NodeTimers } from './node-timers.js';

/** The number of the last request that waited, of this process. */
let lastWaiter = 0;

/** One lock: its holders and its waiters. The store forgets it once no part of it is held or kept; then no request waits, either. */
export class MemoryLine implements GrantLine {
  /** In the order of the grants. */
  private readonly holders = new Set<MemoryGrant>();
  /** Those that have ended, and keep their parts of the lock for a while. */
  private readonly kept = new Set<MemoryGrant>();
  /** Of both together. */
  private readonly held = new Held();
  /** None of them ends before this, on the monotonic clock. */
  private firstEnd = Infinity;
  private readonly line: WaitingLine<Grant>;

  constructor(
    private readonly key: string,
    private readonly timers: NodeTimers,
    readonly lease: number,
    /** Called when the lock has neither a holder nor waiters, so that the queue can be forgotten. */
    private readonly onIdle: () => void,
  ) {
    this.line = new WaitingLine(timers, {
      admits: ({ share }) => this.held.admits(share),
      serve: (wait) => this.grant(wait, wait.waited),
      blocker: () => {
        const { holder, kept } = this.blocker();
        if (kept) return { holder: kept.who, keptFor: kept.left };
        return holder ? { holder: holder.who, heldFor: holder.heldFor } : {};
      },
    });
  }

  /**
   * Ends each lease, and each time for which the lock is kept, that has elapsed by the clock although its timer has not fired yet (a
   * blocked event loop).
   */
  settle(): void {
    const time = performance.now();
    if (this.firstEnd > time) return;
    this.firstEnd = Infinity;
    for (const each of [...this.holders, ...this.kept]) {
      if (each.endsAt <= time) each.onDue();
      else this.firstEnd = Math.min(this.firstEnd, each.endsAt);
    }
  }

  acquire(wait: Wait): Grant | Promise<Grant> {
    const { share } = wait;
    if (this.line.waiters.size === 0 && this.held.admits(share)) return this.grant(wait, 0);
    return this.line.join(wait, String((lastWaiter += 1)));
  }

  /** The token of the only holder, or of the hold after which the lock is kept. */
  get token(): number | undefined {
    const { holder, kept } = this.blocker();
    return holder?.token ?? kept?.token;
  }

  /** Ends all grants, or the one of that token or id. @returns false if there is none */
  forceRelease(name?: number | string): boolean {
    const isNamed = ({ token, id }: MemoryGrant): boolean =>
      name === undefined || (typeof name === 'number' ? token === name : token === undefined && id === name);
    const named = [...this.holders, ...this.kept].filter(isNamed);
    for (const grant of named) {
      // This aborts the signal of its holder, so the next holder starts after that.
      grant.lease.lose(BY_FORCE);
      this.expire(grant);
    }
    return named.length > 0;
  }

  inspect(): LockSnapshot {
    const { first, size } = this.line.waiters;
    const waiters = [];
    for (let waiter = first; waiter && waiters.length < MOST_SHOWN; waiter = waiter.next) {
      const share = waiter.share && { share: waiter.share };
      waiters.push({ id: waiter.id!, who: who(waiter), waitingFor: waiter.waited, live: true, ...share });
    }
    const holders = [...this.holders].slice(0, MOST_SHOWN).map((grant) => grant.describe());
    const { kept } = this.blocker();
    const { mode, used, limit } = this.held;
    return {
      key: this.key,
      holder: holders[0],
      holders,
      ...(kept && { kept }),
      ...(mode && { used }),
      ...(mode === 'permits' && limit !== undefined && { limit }),
      waiters,
      queueLength: size,
    };
  }

  /** Rejects every waiter with `error`, then ends all grants. */
  close(error: Error): void {
    this.line.fail(error);
    for (const grant of [...this.holders]) void grant.release();
    for (const grant of [...this.kept]) this.expire(grant);
  }

  /** The oldest holder; if there is none, what is kept for the longest time, of the first. */
  private blocker(): { readonly holder?: LockHolder | undefined; readonly kept?: KeptLock | undefined } {
    const [oldest] = this.holders;
    if (oldest) return { holder: oldest.describe() };
    let last: MemoryGrant | undefined;
    let looked = 0;
    for (const kept of this.kept) {
      if (!last || kept.endsAt > last.endsAt) last = kept;
      if (++looked === MOST_LOOKED_AT) break;
    }
    return { kept: last?.describeKept() };
  }

  private grant(request: LockRequest, waited: number): MemoryGrant {
    const grant = new MemoryGrant(request, waited, this);
    this.held.add(request.share);
    this.holders.add(grant);
    // A lease that would never expire is lost as soon as it is not renewed any more.
    grant.lease.onLost(() => {
      if (grant.endsAt === Infinity) this.end(grant);
    });
    if (request.leaseTime !== undefined) this.schedule(grant, performance.now() + grant.lease.remaining());
    return grant;
  }

  schedule(grant: MemoryGrant, due: number): void {
    this.firstEnd = Math.min(this.firstEnd, grant.endsAt);
    if (this.holders.has(grant)) this.timers.schedule(grant, due);
  }

  end(grant: MemoryGrant, keptUntil = 0): void {
    if (!this.holders.delete(grant)) return;
    this.timers.cancel(grant);
    if (keptUntil <= performance.now()) return this.handOn(grant);
    grant.keepUntil(keptUntil);
    this.kept.add(grant);
    this.firstEnd = Math.min(this.firstEnd, keptUntil);
    this.timers.schedule(grant, keptUntil);
  }

  expire(grant: MemoryGrant): void {
    if (!this.kept.delete(grant)) return this.end(grant);
    this.timers.cancel(grant);
    this.handOn(grant);
  }

  /** `grant` takes nothing of the lock any more. */
  private handOn({ share }: MemoryGrant): void {
    this.held.delete(share);
    this.line.pass();
    if (this.held.used === 0) this.onIdle();
  }
}

/** For what an error says of the blocker, at most this many are looked at, to limit its cost. */
const MOST_LOOKED_AT = 32;

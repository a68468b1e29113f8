import { admits, weightOf, type Held } from '../../core/port/admission.js';
import {
  MOST_SHOWN,
  type LockRequest,
  type Grant,
  type KeptLock,
  type LockHolder,
  type LockSnapshot,
  type Share,
} from '../../core/port/lock-store.js';
import type { Wait } from '../../core/port/wait.js';
import { WaitingLine } from '../../core/holds/waiting-line.js';
import { Kept } from './kept-lock.js';
import { MemoryGrant, type Renewing, who } from './memory-grant.js';
import { type NodeTimers } from './node-timers.js';

/** One lock: its holders and its waiters. The store forgets it once no part of it is held or kept; then no request waits, either. */
export class MemoryLine {
  /** In the order of the grants. */
  private readonly holders = new Set<MemoryGrant>();
  /** Parts of the lock that ended holds keep for a while. */
  private readonly kept = new Set<Kept>();
  /** Of both together. */
  private held: Held = { used: 0, mode: undefined, limit: undefined };
  private readonly line: WaitingLine<Grant>;
  private readonly renewing: Renewing;

  constructor(
    private readonly key: string,
    private readonly leaseTimers: NodeTimers,
    waitTimers: NodeTimers,
    /** Milliseconds of a lease. */
    lease: number,
    /** Called when the lock has neither a holder nor waiters, so that the queue can be forgotten. */
    private readonly onIdle: () => void,
  ) {
    this.renewing = { lease, stopped: (grant) => this.leaseTimers.schedule(grant, grant.due) };
    this.line = new WaitingLine(waitTimers, {
      admits: ({ share }) => admits(this.held, share),
      serve: (wait) => this.grant(wait, wait.waited),
      joined: ({ share }) => (this.held = withLimitOf(share, this.held)),
      left: ({ share }) => (this.held = this.withoutLimitOf(share, this.held)),
      blocker: () => {
        const { holder, kept } = this.blocker();
        if (kept) return { holder: kept.who, keptFor: kept.left };
        return holder ? { holder: holder.who, heldFor: holder.heldFor } : {};
      },
    });
  }

  /**
   * Ends each lease, and each time for which the lock is kept, that has elapsed by the clock although its timer has not fired yet (a
   * blocked event loop). Reading the state is enough: the lease notifies its holder, then `end` is called.
   */
  settle(): void {
    for (const { due, lease } of this.holders) if (due < Infinity) void lease.state;
    for (const kept of this.kept) if (kept.due <= performance.now()) this.endKept(kept);
  }

  acquire(wait: Wait): Grant | Promise<Grant> {
    const { share } = wait;
    if (this.line.waiters.size === 0 && admits(withLimitOf(share, this.held), share))
      return this.grant(wait, 0);
    return this.line.join(wait);
  }

  /** The token of the only holder, or of the hold after which the lock is kept. */
  get token(): number | undefined {
    const { holder, kept } = this.blocker();
    return holder?.token ?? kept?.token;
  }

  forceRelease(): void {
    for (const grant of [...this.holders]) grant.lease.lose(BY_FORCE);
    for (const kept of [...this.kept]) this.endKept(kept);
  }

  /** Ends one grant. @returns false if it is not there */
  forceReleaseOf(name: number | string): boolean {
    const isNamed = ({ token, id }: MemoryGrant): boolean =>
      typeof name === 'number' ? token === name : token === undefined && id === name;
    const grant = [...this.holders].find(isNamed);
    const kept = [...this.kept].find(({ grant }) => isNamed(grant));
    grant?.lease.lose(BY_FORCE);
    if (kept) this.endKept(kept);
    return grant !== undefined || kept !== undefined;
  }

  inspect(): LockSnapshot {
    const { first, size } = this.line.waiters;
    const waiters = [];
    for (let waiter = first; waiter && waiters.length < MOST_SHOWN; waiter = waiter.next) {
      const share = waiter.share && { share: waiter.share };
      waiters.push({ who: who(waiter), waitingFor: waiter.waited, live: true, ...share });
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
    for (const kept of [...this.kept]) this.endKept(kept);
  }

  /** The oldest holder; if there is none, what is kept for the longest time. */
  private blocker(): { readonly holder?: LockHolder | undefined; readonly kept?: KeptLock | undefined } {
    const [oldest] = this.holders;
    if (oldest) return { holder: oldest.describe() };
    const [last] = [...this.kept].sort((one, other) => other.due - one.due);
    return { kept: last?.describe() };
  }

  private grant(request: LockRequest, waited: number): MemoryGrant {
    const grant = new MemoryGrant(request, waited, this.end, this.renewing);
    const { share } = request;
    this.held = withLimitOf(share, {
      ...this.held,
      used: this.held.used + weightOf(share),
      mode: share?.mode,
    });
    this.holders.add(grant);
    // The lease aborts the signal of its holder before it calls this listener, so the next holder starts after that.
    grant.lease.onLost(() => this.end(grant));
    this.leaseTimers.schedule(grant, grant.due);
    return grant;
  }

  /** Hands on what `grant` has, unless it has ended already; but not before `keptUntil` (monotonic). */
  private readonly end = (grant: MemoryGrant, keptUntil = 0): void => {
    if (!this.holders.delete(grant)) return;
    this.leaseTimers.cancel(grant);
    if (keptUntil <= performance.now()) return this.handOn(grant);
    const kept = new Kept(grant, keptUntil, () => this.endKept(kept));
    this.kept.add(kept);
    this.leaseTimers.schedule(kept, keptUntil);
  };

  private endKept(kept: Kept): void {
    this.kept.delete(kept);
    this.leaseTimers.cancel(kept);
    this.handOn(kept.grant);
  }

  /** `grant` takes nothing of the lock any more. */
  private handOn({ share }: MemoryGrant): void {
    const used = this.held.used - weightOf(share);
    this.held = this.withoutLimitOf(share, {
      ...this.held,
      used,
      mode: used === 0 ? undefined : share?.mode,
    });
    this.line.pass();
    if (this.held.used === 0) this.onIdle();
  }

  /** A request that no longer waits or holds sets no limit: that of the last in the queue counts then, or that of the newest holder. */
  private withoutLimitOf(share: Share | undefined, held: Held): Held {
    const limit = limitOf(share);
    if (limit === undefined || limit !== held.limit) return held;
    const grants = [...this.holders, ...[...this.kept].map((each) => each.grant)].filter((each) =>
      limitOf(each.share),
    );
    const [newest] = grants.sort((one, other) => Number(other.id) - Number(one.id));
    return { ...held, limit: limitOf(this.line.waiters.last?.share) ?? limitOf(newest?.share) };
  }
}

/** Completes "The lock … was lost: …". */
const BY_FORCE = 'it was released by force';

/** A permit request that joins the queue, or is granted, sets the limit. */
function withLimitOf(share: Share | undefined, held: Held): Held {
  return { ...held, limit: limitOf(share) ?? held.limit };
}

function limitOf(share: Share | undefined): number | undefined {
  return share?.mode === 'permits' ? share.permits : undefined;
}

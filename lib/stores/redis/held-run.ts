import { elapsedSince, type Instant } from '../../core/clock.js';
import { Lease } from '../../core/lease.js';
import type { PresentGrant } from './answer.js';
import type { Finished } from './line-commands.js';
import { safetyMargin } from '../redis-client/safety-margin.js';
import type { Waiter } from './waiter.js';

const NOBODY: readonly Waiter[] = [];

/** One request's time inside. */
export class Turn {
  constructor(
    readonly waiter: Waiter,
    readonly lease: Lease,
    /** Fencing token. */
    readonly token: number,
  ) {}
}

/**
 * A grant as this client lives it: a run of requests, neighbours in line, that hold the lock one after the other, are
 * renewed as one, and released once at the end (R14).
 */
export class HeldRun {
  readonly first: number;
  /** Sequence numbers of its requests. */
  readonly run: readonly number[];
  /** Fixed lease of its only request; undefined: the watchdog renews. */
  readonly leaseTime: number | undefined;
  /** The one that is inside. */
  current: Turn | undefined;

  /** Set when Redis has confirmed the whole of a fixed lease. */
  confirmed: boolean;

  private readonly margin: number;
  private next = 0;
  private since: Instant;
  private left: number;

  constructor(
    grant: PresentGrant,
    private readonly members: readonly (Waiter | undefined)[],
    lease: number,
  ) {
    this.first = grant.first;
    this.run = grant.run;
    this.leaseTime = members[0]?.leaseTime;
    this.confirmed = this.leaseTime !== undefined && grant.left >= this.leaseTime;
    this.margin = safetyMargin(this.leaseTime ?? lease);
    this.since = grant.since;
    this.left = grant.left - this.margin;
  }

  /** What the release script is told of it. */
  finished(unserved: readonly Waiter[]): Finished {
    return { first: this.first, head: this.head, unserved: unserved.map(({ sequence }) => sequence) };
  }

  /** The first request's sequence, for Redis to remember as done (M9); 0 while it has not had its turn. */
  private get head(): number {
    return this.next > 0 ? (this.run[0] ?? 0) : 0;
  }

  /** Of who is inside, or comes next. */
  get label(): string {
    return (this.current?.waiter ?? this.unserved()[0])?.label ?? '';
  }

  /** Milliseconds for which this client may act on the grant. */
  remaining(): number {
    return this.left - elapsedSince(this.since);
  }

  /**
   * Milliseconds after which Redis, too, must have ended the grant if it is not renewed. Not by the wall clock, which may
   * have been set: this must not be too short.
   */
  serverLeft(): number {
    return Math.max(0, this.left + this.margin - (performance.now() - this.since.monotonic));
  }

  /** Lets the next member in that still waits; undefined if there is none. */
  enterNext(): Turn | undefined {
    this.current = undefined;
    while (this.next < this.members.length) {
      const index = this.next++;
      const waiter = this.members[index];
      if (!waiter || waiter.settled) continue;
      const lease = new Lease(waiter.request.key, this.since, this.left);
      this.current = new Turn(waiter, lease, this.first + index);
      return this.current;
    }
    return undefined;
  }

  /** Takes the next member that still waits out without letting it in; undefined if there is none. */
  passOver(): Waiter | undefined {
    const [waiter] = this.unserved();
    if (waiter) this.next = this.members.indexOf(waiter) + 1;
    return waiter;
  }

  /** All have had their turn. */
  get ended(): boolean {
    return this.next === this.members.length;
  }

  /** Whether any of its members still waits for its turn. */
  get wanted(): boolean {
    return this.unserved().length > 0;
  }

  /** Members that still wait for their turn. */
  unserved(): readonly Waiter[] {
    if (this.ended) return NOBODY;
    return this.members
      .slice(this.next)
      .filter((waiter): waiter is Waiter => waiter !== undefined && !waiter.settled);
  }

  /** Whether it is its turn in this run that the waiter waits for. */
  has(waiter: Waiter): boolean {
    return this.members.includes(waiter, this.next);
  }

  /** A renewal of this very grant, sent at `since`, left so much (M1, M2). */
  renewed(since: Instant, left: number): void {
    if (left - this.margin - elapsedSince(since) >= this.remaining()) {
      this.since = since;
      this.left = left - this.margin;
    }
    this.confirmed = true;
    this.current?.lease.renew(since, left - this.margin);
  }

  /** Whether a heartbeat should still renew it: a fixed lease only until its full length is confirmed. */
  get wantsRenewal(): boolean {
    return this.leaseTime === undefined || !this.confirmed;
  }
}

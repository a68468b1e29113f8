import { elapsedSince, type Instant } from '../../core/clock.js';
import { Lease } from '../../core/lease.js';
import type { PresentGrant } from './answer.js';
import type { Finished } from './line-commands.js';
import { safetyMargin } from '../redis-client/safety-margin.js';
import type { Waiter } from './waiter.js';

/**
 * A section that lasts longer than this (ms) after a handoff renews its first lease and tells Redis who is inside; shorter ones,
 * as on a lock that many want, cost no command of their own.
 */
const FIRST_REPORT = 100;
/** A first lease with less left than this is renewed at once: an event loop may be blocked for so long (ms). */
const SHORT_LEASE = 3_000;

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

  private margin: number;
  private next = 0;
  /** How many turns Redis knows of: whose label and token it shows, and how many wait behind it. */
  private reported: number;
  private enteredAt = 0;
  private since: Instant;
  private left: number;

  constructor(
    grant: PresentGrant,
    private readonly members: readonly (Waiter | undefined)[],
    private readonly lease: number,
  ) {
    this.first = grant.first;
    this.run = grant.run;
    this.leaseTime = members[0]?.leaseTime;
    this.confirmed = this.leaseTime !== undefined && grant.left >= this.leaseTime;
    this.margin = this.marginOf(grant.left);
    this.since = grant.since;
    this.left = grant.left - this.margin;
    // Only who was never in line has its label there from the start.
    this.reported = grant.run.length === 1 && members[0]?.ticket === 0 ? 1 : 0;
  }

  private marginOf(left: number): number {
    return safetyMargin(this.leaseTime ?? this.lease, left);
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
      this.enteredAt = performance.now();
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
    const margin = this.marginOf(left);
    if (left - margin - elapsedSince(since) >= this.remaining()) {
      this.since = since;
      this.margin = margin;
      this.left = left - margin;
    }
    this.confirmed = true;
    this.current?.lease.renew(since, left - margin);
  }

  /** How many of the run had their turn before the one that is inside. */
  get served(): number {
    return Math.max(0, this.next - 1);
  }

  /** Redis does not know yet who is inside, or has given a first lease only. */
  private get unreported(): boolean {
    return this.current !== undefined && this.reported < this.next;
  }

  /** When a heartbeat should tell Redis who is inside (monotonic ms); Infinity: it knows. */
  get reportDue(): number {
    if (!this.unreported || !this.current?.lease.renewable) return Infinity;
    const short = this.remaining() < Math.min(SHORT_LEASE, (this.leaseTime ?? this.lease) / 2);
    return short ? this.enteredAt : this.enteredAt + FIRST_REPORT;
  }

  /** A heartbeat says who is inside. */
  report(): void {
    this.reported = this.next;
  }

  /** Whether a heartbeat should still renew it: a fixed lease only until its full length is confirmed, and its label is known. */
  get wantsRenewal(): boolean {
    return this.leaseTime === undefined || !this.confirmed || this.unreported;
  }
}

import type { FaultKind } from '../scenario/faults.js';
import { SHORT_LEASES } from '../scenario/option-values.js';
import type { Plan } from '../scenario/plan.js';
import type { SimClient } from '../scenario/sim-client.js';
import type { Excuse, RequestRecord } from './history.js';
import { Protections } from './protections.js';

/** The server did not keep its side. Of a split, two primaries serve until `until`. */
export interface ServerBreak {
  readonly kind:
    'data-lost' | 'line-lost' | 'forced' | 'clock-forward' | 'clock-back' | 'failed-over' | 'split';
  readonly at: number;
  /** Of which lock; none: of all. */
  readonly lock: string | undefined;
  until?: number;
}

/** After these the server lacks what it acknowledged before. */
const LOSSES: ReadonlySet<ServerBreak['kind']> = new Set(['data-lost', 'line-lost', 'failed-over', 'split']);

/** The margin of a fixed lease below a second is no longer than this (`safetyMargin`), ms. */
const LONGEST_SHORT_MARGIN = 100;

/** Longer than this (ms) no plan waits for a new primary to grant, or for replicas to confirm a grant. */
const PATIENT = 1_000_000;

/** So many leases of a dead waiter, one after the other, are too many to play. */
const MANY_LEASES = 100_000;

/** Faults that lose nothing: what they hold up is served as soon as a command has been sent again. */
const GENTLE: ReadonlySet<FaultKind> = new Set(['delay', 'duplicate', 'script-flush']);

/** What the fault log allows, and for how long. Whatever is not excused here is a violation. */
export class Excuses {
  readonly breaks: ServerBreak[] = [];
  /** By how much the clock of the server was set, ms. */
  stepped = 0;
  readonly protections: Protections;
  /** The longest lease that is renewed, the longest time that a command may take. */
  readonly longestRenewed: number;
  readonly longestWindow: number;
  readonly commandTimeout: number;
  /** The longest time for which the server may honour a grant without hearing from its client, and what nobody holds (`holdAtLeast`). */
  readonly longestLease: number;
  readonly longestKept: number;
  /** Some client hardly ever gets an answer within its commandTimeout: nothing unsafe may happen, but it need not be served. */
  readonly isStrained: boolean;
  /** A fixed lease may begin and expire between two calls of those that wait, which learn of it by the next, ms. */
  private readonly unseen: number;
  private disturbedUntil = 0;
  private readonly heartbeat: number;
  private readonly kinds: ReadonlySet<FaultKind>;
  /** How late a command or a reply may come, ms; delays at the same time add up. */
  private readonly longestDelay: number;

  constructor(private readonly plan: Plan) {
    this.protections = new Protections(plan);
    const times = plan.clients.map((client) => client.times ?? plan);
    this.longestRenewed = Math.max(...times.map(({ lease }) => lease));
    this.longestWindow = Math.max(...times.map(({ window }) => window));
    this.commandTimeout = Math.max(...times.map(({ commandTimeout }) => commandTimeout));
    this.heartbeat = Math.max(...times.map(({ lease, window }) => Math.max(window, lease) / 3));
    this.kinds = new Set(plan.faults.map(({ kind }) => kind));
    const delays = plan.faults.filter(({ kind }) => kind === 'delay');
    this.longestDelay = delays.reduce((sum, { amount }) => sum + amount, 0);
    const requests = plan.flows.flatMap((flow) => flow.requests);
    const fixed = requests.flatMap(({ leaseTime }) => leaseTime ?? []);
    this.unseen = fixed.some((lease) => lease < this.longestWindow / 3) ? this.longestWindow / 3 : 0;
    this.longestKept = Math.max(0, ...requests.map(({ holdAtLeast = 0 }) => holdAtLeast));
    this.longestLease = Math.max(this.longestRenewed, ...fixed);
    this.isStrained =
      times.some(({ commandTimeout }) => commandTimeout < 50 + 5 * plan.latency) ||
      this.protections.longestWait > PATIENT ||
      plan.clients.some(({ replicas }) => (replicas?.timeout ?? 0) > PATIENT) ||
      (plan.faults.length > 0 && this.longestWindow / Math.min(...fixed) > MANY_LEASES);
  }

  /** A fault that lasts until `until`. */
  disturbed(until: number): void {
    this.disturbedUntil = Math.max(this.disturbedUntil, until);
  }

  /** Both may believe, or an older one may enter late, in spite of what their clients do against the loss of writes. */
  mayOverlap(older: RequestRecord, now: number): Excuse | undefined {
    return this.mayBeGivenAway(older, now, (broke) => this.protections.prevents(broke, older));
  }

  /** The server may not know of a grant whose holder believes in it. A strict server does not either; it only waits. */
  mayBeUnknown(record: RequestRecord, now: number): Excuse | undefined {
    return this.mayBeGivenAway(record, now, (broke) => this.protections.outlives(broke, record));
  }

  /**
   * The server gave the lock away although the holder did nothing wrong. It learns that by its next heartbeat, or, cut off or with a
   * fixed lease, when its lease ends.
   */
  private mayBeGivenAway(
    older: RequestRecord,
    now: number,
    isPrevented: (broke: ServerBreak) => boolean,
  ): Excuse | undefined {
    const { lastMute, lastSetBack, process } = older.client;
    // A clock that is set back makes the leases of before longer.
    const lifetime = (older.planned.leaseTime ?? this.longestRenewed) + this.stepped;
    // Neither of its clocks shows a suspend of its host where the wall clock was set back as well.
    const { from, to } = process.lastSuspend;
    if (to >= now - lifetime && lastSetBack >= from - lifetime) return 'clock';
    const since = older.served?.at ?? older.sentAt;
    const broke = this.breaks.find((one) => {
      const { kind, at, lock, until = Infinity } = one;
      if (kind === 'clock-back' || kind === 'line-lost' || (lock ?? older.lock) !== older.lock) return false;
      if (isPrevented(one)) return false;
      if (kind === 'split') return now >= at && now <= until + this.longestLease + 1;
      if (at < since - this.longestLease || now > at + lifetime + 1) return false;
      if (older.planned.leaseTime !== undefined || kind === 'clock-forward') return true;
      return now <= Math.max(at, lastMute) + this.heartbeat + this.recovery();
    });
    if (!broke) return undefined;
    return broke.kind === 'clock-forward' ? 'clock' : broke.kind === 'forced' ? 'forced' : 'data';
  }

  /** What the server knew of the lock at `since` may be lost by now. */
  dataLost(lock: string, since: number, now: number): boolean {
    return this.breaks.some(
      (one) =>
        LOSSES.has(one.kind) &&
        (one.lock ?? lock) === lock &&
        (one.at >= since || (one.kind === 'split' && now <= (one.until ?? Infinity) + this.recovery())),
    );
  }

  clockSet(since: number, way: 'clock-forward' | 'clock-back'): boolean {
    return this.breaks.some(({ kind, at }) => kind === way && at >= since);
  }

  /** The holder could not renew, or was robbed. */
  mayLose(record: RequestRecord, now: number): boolean {
    const { client, grantedAt = 0, lock } = record;
    // It learns of its grant when hardly anything of the first lease is left.
    if (this.learnsLate(record)) return true;
    const lease = this.longestRenewed;
    if (!this.protections.renewsInTime(client.index)) return true;
    if (client.lastMute >= now - lease - 2 * this.commandTimeout || client.lastWallStep >= grantedAt - lease)
      return true;
    return this.breaks.some(
      (one) =>
        one.kind !== 'clock-back' &&
        one.kind !== 'line-lost' &&
        (one.lock ?? lock) === lock &&
        one.at >= now - 2 * lease,
    );
  }

  /** It may be refused for its options: its lease, or what its client makes of strict mode. */
  mayBeMisfit(record: RequestRecord): boolean {
    return this.mayBeRefusedAsTooShort(record) || this.protections.mayRefuse(record);
  }

  /** Its fixed lease may be over before its client can learn of the grant, also in good weather. */
  isTooShort({ planned, client }: RequestRecord): boolean {
    return (planned.leaseTime ?? Infinity) < Math.max(this.longestSettling(), this.longestConfirming(client));
  }

  /** A grant may end before its client has learned of it: its message is lost or late, or its lease too short for that or for the replicas. */
  mayMissGrant(record: RequestRecord): boolean {
    const { lastUnreachable } = record.client;
    if (this.isTooShort(record) || this.learnsLate(record)) return true;
    if (!this.protections.renewsInTime(record.client.index)) return true;
    return lastUnreachable >= (record.served?.at ?? 0) - this.recovery();
  }

  /** Without its message, a grant is found by the next heartbeat. */
  private learnsLate(record: RequestRecord): boolean {
    return this.messagesMayBeLost && this.firstLease(record) < this.heartbeat + this.recovery();
  }

  /** Of the client that passed the lock on, which may be any. */
  private firstLease({ planned }: RequestRecord): number {
    const times = this.plan.clients.map((client) => client.times ?? this.plan);
    return planned.leaseTime ?? Math.min(...times.map(({ lease, window }) => Math.min(lease, window)));
  }

  /** Copies of commands come late. */
  get hasCopies(): boolean {
    return this.kinds.has('duplicate');
  }

  private get messagesMayBeLost(): boolean {
    // A script that is stopped sends none.
    const isStopped = this.kinds.has('stopped-script');
    return this.plan.denied.includes('PUBLISH') || this.kinds.has('mute') || isStopped;
  }

  /** A fixed lease that is not longer may be used up by replicas that acknowledge the grant slowly, but for its margin, ms. */
  private longestConfirming({ options }: SimClient): number {
    // The message, the heartbeat and the WAIT are under way one after the other.
    return options.replicas
      ? this.protections.confirmation + 5 * this.plan.latency + LONGEST_SHORT_MARGIN
      : 0;
  }

  /** Its fixed lease may be over three times in a row before its client learns of the grant; it is then refused. */
  private mayBeRefusedAsTooShort({ planned, client }: RequestRecord): boolean {
    // Without messages the client learns of a grant by its next heartbeat.
    const longest = this.messagesMayBeLost ? this.heartbeat + 100 + 10 * this.plan.latency : 0;
    // A client that cannot tell how old a message is asks Redis: the command and its reply are late as well.
    const delayed = 2 * this.longestDelay;
    // Where too few replicas answer, the client learns that only when its WAIT ends, which may be after the lease; and that WAIT begins
    // when the one before has ended.
    const unconfirmed = this.protections.mayStayUnconfirmed(client) ? 2 * this.commandTimeout : 0;
    const lease = planned.leaseTime ?? Infinity;
    return lease <= Math.max(longest, delayed, unconfirmed, this.longestConfirming(client), ...SHORT_LEASES);
  }

  /** A command that gets no answer, and another that does. */
  private recovery(): number {
    return this.commandTimeout + 100 + 10 * this.plan.latency;
  }

  /** Since when nothing has been wrong with the server, the network or a client. */
  quietSince(clients: readonly SimClient[], now: number): number {
    const living = clients.filter(({ process, closed }) => process.alive && !closed);
    return Math.max(
      Math.min(now, this.disturbedUntil),
      ...living.map(({ lastUnreachable }) => lastUnreachable),
    );
  }

  /** How long a command may be under way in good weather, ms. */
  private longestSettling(): number {
    // The server may have forgotten the scripts of a heartbeat and of what follows it.
    const texts = this.kinds.has('script-flush') ? 4 : 0;
    return 20 + (5 + texts) * this.plan.latency;
  }

  /** For how long a lock may stay free in quiet times while a request waits. */
  longestGap(): number {
    // Of a line longer than one call looks at, the next may be served by the first renewal of those before it.
    const parts = this.plan.smallLimits ? 100 : 0;
    const scheduling = 50 + 5 * this.plan.latency + this.protections.confirmation + this.unseen + parts;
    if (this.plan.denied.length === 0) {
      const harmful = [...this.kinds].filter((kind) => !GENTLE.has(kind));
      const gentle = scheduling + 2 * this.longestDelay + this.longestSettling();
      if (harmful.length === 0) return gentle;
      // A message that is lost is found by the next heartbeat.
      if (harmful.every((kind) => kind === 'mute')) return gentle + this.heartbeat;
    }
    return (
      this.longestLease +
      this.longestWindow +
      this.heartbeat +
      this.recovery() +
      scheduling +
      500 +
      this.stepped
    );
  }
}

import type { FaultKind } from '../scenario/faults.js';
import { SHORT_LEASES } from '../scenario/option-values.js';
import type { Plan } from '../scenario/plan.js';
import { GRACE, type SimClient } from '../scenario/sim-client.js';
import { Breaks, LOSSES } from './breaks.js';
import type { RequestRecord, ServerBreak } from './history.js';
import { Protections } from './protections.js';

/** For how long a record is kept of a client that gave no sign of life (RETENTION of commands/client-scripts.ts), ms. */
const RETENTION = 60_000;

/** The margin of a fixed lease below a second is no longer than this (`safetyMargin`), ms. */
const LONGEST_SHORT_MARGIN = 100;

/** Faults of the server alone, after which it has all that it knew. */
const OUTAGES: ReadonlySet<FaultKind> = new Set(['crash', 'stall', 'script-flush']);

/** The longest pause between two attempts to connect, with its jitter, ms. */
const LONGEST_BACKOFF = 1_200;

/** Longer than this (ms) no plan waits for a new primary to grant, or for replicas to confirm a grant. */
const PATIENT = 1_000_000;

/** So many leases of a dead waiter, one after the other, are too many to play. */
const MANY_LEASES = 100_000;

/** What the fault log allows, and for how long. Whatever is not excused here is a violation. */
export class Excuses {
  /** When the server did not keep its side. */
  readonly breaks = new Breaks();
  private disturbedUntil = 0;
  readonly protections: Protections;
  /** The longest lease that is renewed. */
  readonly longestRenewed: number;
  readonly longestWindow: number;
  /** The longest time that a command may take. */
  readonly commandTimeout: number;
  private readonly shortestWindow: number;
  private readonly heartbeat: number;
  private readonly kinds: ReadonlySet<FaultKind>;
  /** How late a command or a reply may come, ms; delays at the same time add up. */
  private readonly longestDelay: number;
  /** Of a plan in which only the server fails. */
  private readonly outages: readonly Outage[];
  /** The longest time for which the server may honour a grant without hearing from its client. */
  readonly longestLease: number;
  /** The longest time for which the server may keep what nobody holds (`holdAtLeast`). */
  readonly longestKept: number;
  /** Some client hardly ever gets an answer within its commandTimeout: nothing unsafe may happen, but it need not be served. */
  readonly isStrained: boolean;

  constructor(private readonly plan: Plan) {
    this.protections = new Protections(plan);
    const times = plan.clients.map((client) => client.times ?? plan);
    this.longestRenewed = Math.max(...times.map(({ lease }) => lease));
    this.longestWindow = Math.max(...times.map(({ window }) => window));
    this.commandTimeout = Math.max(...times.map(({ commandTimeout }) => commandTimeout));
    this.shortestWindow = Math.min(...times.map(({ lease, window }) => Math.min(lease, window)));
    this.heartbeat = Math.max(...times.map(({ lease, window }) => Math.min(window, lease) / 3));
    this.kinds = new Set(plan.faults.map(({ kind }) => kind));
    const delays = plan.faults.filter(({ kind }) => kind === 'delay');
    this.longestDelay = delays.reduce((sum, { amount }) => sum + amount, 0);
    this.outages = outagesOf(plan);
    const fixed = plan.flows.flatMap(({ requests }) => requests.flatMap(({ leaseTime }) => leaseTime ?? []));
    const kept = plan.flows.flatMap(({ requests }) => requests.map(({ holdAtLeast = 0 }) => holdAtLeast));
    this.longestKept = Math.max(0, ...kept);
    this.longestLease = Math.max(this.longestRenewed, ...fixed);
    this.isStrained =
      times.some(({ commandTimeout }) => commandTimeout < 50 + 5 * plan.latency) ||
      this.protections.longestWait > PATIENT ||
      plan.clients.some(({ replicas }) => (replicas?.timeout ?? 0) > PATIENT) ||
      // Until its window is over, a dead waiter may be given one fixed lease after the other.
      (plan.faults.length > 0 && this.longestWindow / Math.min(...fixed) > MANY_LEASES);
  }

  /** Locks are shared: there is no one holder whose grant could be looked at. */
  get isShared(): boolean {
    return this.plan.shared === true;
  }

  /** A fault that lasts until `until`. */
  disturbed(until: number): void {
    this.disturbedUntil = Math.max(this.disturbedUntil, until);
  }

  /** Both may believe, or an older one may enter late, in spite of what their clients do against the loss of writes. */
  mayOverlap(older: RequestRecord, now: number): boolean {
    return this.mayBeGivenAway(older, now, (broke) => this.protections.prevents(broke, older));
  }

  /** The server may not know of a grant whose holder believes in it. A strict server does not either; it only waits. */
  mayBeUnknown(record: RequestRecord, now: number): boolean {
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
  ): boolean {
    const { lastMute, lastSetBack, process } = older.client;
    const lifetime = older.planned.leaseTime ?? this.longestRenewed;
    // Neither of its clocks shows a suspend of its host where the wall clock was set back as well.
    const { from, to } = process.lastSuspend;
    if (to >= now - lifetime && lastSetBack >= from - lifetime) return true;
    return this.breaks.some((broke) => {
      const { kind, at, lock } = broke;
      if (kind === 'clock-back' || kind === 'line-lost' || (lock ?? older.lock) !== older.lock) return false;
      if (isPrevented(broke)) return false;
      // Two primaries grant side by side until one ends.
      if (kind === 'split')
        return now >= at && now <= Math.max(at, this.breaks.splitUntil) + this.longestLease + 1;
      if (at < (older.passedAt ?? now) - this.longestLease || now > at + lifetime + 1) return false;
      if (older.planned.leaseTime !== undefined || kind === 'clock-forward') return true;
      return now <= Math.max(at, lastMute) + this.heartbeat + this.recovery();
    });
  }

  dataLostSince(name: string, since: number): boolean {
    return this.breaks.some(({ kind, at, lock = name }) => LOSSES.has(kind) && lock === name && at >= since);
  }

  /** The holder could not renew, or was robbed. */
  mayLose(record: RequestRecord, now: number): boolean {
    const { commandTimeout } = this;
    const lease = this.longestRenewed;
    const { lastMute, lastWallStep } = record.client;
    if (!this.protections.renewsInTime(record.client.index)) return true;
    if (lastMute >= now - lease - 2 * commandTimeout || lastWallStep >= (record.grantedAt ?? 0) - lease)
      return true;
    return this.breaks.some(
      ({ kind, at, lock = record.lock }) =>
        kind !== 'clock-back' && kind !== 'line-lost' && lock === record.lock && at >= now - 2 * lease,
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

  /** A fixed lease that is not longer may be used up by replicas that acknowledge the grant slowly, but for its margin, ms. */
  private longestConfirming({ options }: SimClient): number {
    return options.replicas ? this.protections.confirmation + LONGEST_SHORT_MARGIN : 0;
  }

  /** Its fixed lease may be over three times in a row before its client learns of the grant; it is then refused. */
  private mayBeRefusedAsTooShort({ planned, client }: RequestRecord): boolean {
    // Without messages the client learns of a grant by its next heartbeat.
    const withoutMessages = this.heartbeat + 100 + 10 * this.plan.latency;
    const messagesMayBeLost = this.plan.denied.includes('PUBLISH') || this.kinds.has('mute');
    const longest = messagesMayBeLost ? withoutMessages : 0;
    // A client that cannot tell how old a message is asks Redis: the command and its reply are late as well.
    const delayed = 2 * this.longestDelay;
    // Where too few replicas answer, the client learns that only when its WAIT ends, which may be after the lease; and that WAIT begins
    // when the one before has ended.
    const unconfirmed = this.protections.mayStayUnconfirmed(client) ? 2 * this.commandTimeout : 0;
    const lease = planned.leaseTime ?? Infinity;
    return lease <= Math.max(longest, delayed, unconfirmed, this.longestConfirming(client), ...SHORT_LEASES);
  }

  /** The client of `waiting` was unreachable when the lock passed on, or the server forgot the line. */
  mayBePassedOver(waiting: RequestRecord, served: RequestRecord, newcomerAt: number, now: number): boolean {
    const passedAt = served.passedAt ?? now;
    const recovery = this.heartbeat + this.recovery();
    // A shared hold with a fixed lease that was over when the server was back does not go back into line (docs/protocol.md).
    const { share, leaseTime } = waiting.planned;
    const hadFixed = share !== undefined && leaseTime !== undefined && waiting.passedAt !== undefined;
    if (this.comeBackInTime()) return hadFixed || this.hadNoGrace(newcomerAt, passedAt);
    if (waiting.client.lastLongUnreachable >= passedAt - recovery) return true;
    // While all subscriptions come back, the line waits for those that return within the grace; not for one that was marked alive
    // when the other was reachable already, and whose connection broke again.
    const markedAliveAt = served.markedAlive?.get(waiting.client) ?? 0;
    const steadySince = Math.max(passedAt - GRACE, waiting.ackedAt ?? 0, markedAliveAt);
    const servedWasSteady = (served.unsubscribedBefore ?? now) < steadySince;
    if (waiting.client.lastUnreachable >= passedAt - recovery && servedWasSteady) return true;
    // While clients have different settings: without messages, a first lease that is shorter than the heartbeat of
    // the client that it is given to may be over before that asks.
    const { lease, window } = this.plan.clients[waiting.client.index]?.times ?? this.plan;
    const messagesMayBeLost = this.kinds.size > 0 || this.plan.denied.includes('PUBLISH');
    if (messagesMayBeLost && this.shortestWindow < Math.min(lease, window) / 3 + 100 + 10 * this.plan.latency)
      return true;
    // A message that is lost or late, and a fixed lease that is over before the next heartbeat could have looked.
    if (messagesMayBeLost && (waiting.planned.leaseTime ?? Infinity) < recovery) return true;
    // A step of the server's clock makes every client silent: by more than all windows it costs nothing (R7), by less it
    // may be too much for those who spoke longest ago.
    const silenced = this.breaks.some(
      ({ kind, at, by }) =>
        kind === 'clock-forward' &&
        by + this.heartbeat > window &&
        by < this.longestWindow &&
        at <= passedAt &&
        passedAt <= at + recovery,
    );
    if (silenced) return true;
    // The message of its own grant was lost, and a step of the clock ended that before its heartbeat could find it.
    const endedUnknown = this.breaks.some(
      ({ kind, at }) => kind === 'clock-forward' && at <= passedAt && passedAt <= at + recovery,
    );
    const mayHaveHadIt = served.clientBefore === waiting.client || waiting.passedAt !== undefined;
    if (endedUnknown && messagesMayBeLost && mayHaveHadIt) return true;
    if (this.breaks.isSplit(passedAt, recovery)) return true;
    return this.breaks.some(
      ({ kind, at, lock, by }) =>
        // A step by more than that for which they are kept expires the keys of a line.
        (LOSSES.has(kind) ||
          kind === 'line-lost' ||
          kind === 'taken-away' ||
          (kind === 'clock-forward' && by > RETENTION)) &&
        (lock === undefined || lock === waiting.lock) &&
        at >= (waiting.ackedAt ?? 0) - recovery &&
        // Tickets are seeded by the clock: set back, and the last one forgotten, newcomers get lower ones. A copy of an old
        // command may hide that the rest of a client's places are gone.
        (passedAt <= at + recovery ||
          this.breaks.clockAt(served.sentAt) <= this.breaks.highestClock(waiting.ackedAt ?? 0) ||
          (kind === 'line-lost' && this.kinds.has('duplicate'))),
    );
  }

  /** Nothing fails but the server, for however long: all clients are back before their windows are over, and no place is lost. */
  private comeBackInTime(): boolean {
    const { denied, latency, clients } = this.plan;
    const isOutage = [...this.kinds].every((kind) => OUTAGES.has(kind));
    // Where their windows differ, the server cannot tell that it was away from that all are overdue (R7).
    const areAlike = clients.every(({ times }) => times === undefined);
    const isBack = this.shortestWindow > LONGEST_BACKOFF + 100 + 10 * latency;
    return isOutage && areAlike && denied.length === 0 && isBack && this.longestOutage() < RETENTION;
  }

  /**
   * The server was away for a window, and R7 gave no grace (docs/protocol.md): a client that did not wait before called first, and the
   * server was the same one; or it was back so briefly, between two times away, that not all could call.
   */
  private hadNoGrace(newcomerAt: number, passedAt: number): boolean {
    return this.outages.some(({ from, to, isRestart }) => {
      if (isRestart) return false;
      const mayBeOverdue = to - from + LONGEST_BACKOFF + this.heartbeat >= this.shortestWindow;
      const isFelt = passedAt <= to + LONGEST_BACKOFF + this.heartbeat + this.recovery();
      return mayBeOverdue && from <= newcomerAt + this.commandTimeout && from <= passedAt && isFelt;
    });
  }

  /** The longest time without a pause in which all clients could call, ms: after RETENTION and a window, the keys of a line expire. */
  private longestOutage(): number {
    return Math.max(0, ...this.outages.map(({ from, to }) => to - from));
  }

  /** A liveness deadline is one window ahead, of the longest of all clients; more only after the clock was set back. */
  longestDeadline(): number {
    return this.longestWindow + 1 + this.breaks.steppedBack;
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

  /** For how long a record of a client that ended may be kept while others use the lock, ms. */
  longestRecord(): number {
    return RETENTION + 2 * this.longestWindow + this.heartbeat + 1_000 + this.breaks.steppedBack;
  }

  /** How long a command may be under way in good weather, ms. */
  longestSettling(): number {
    return 20 + 5 * this.plan.latency;
  }

  /** Nothing fails, and every hold is shorter than its lease. */
  isSteady(): boolean {
    const { faults, denied, flows } = this.plan;
    const requests = flows.flatMap((flow) => flow.requests);
    const endsInTime = requests.every(
      ({ lapses, leaseTime = Infinity, hold }) => !lapses && leaseTime / 2 > hold + this.recovery(),
    );
    return faults.length === 0 && denied.length === 0 && endsInTime;
  }

  /** Nothing fails but processes, which end in a way that the server learns at once. */
  onlyNoticedDeaths(): boolean {
    const { faults, denied } = this.plan;
    const isStrict = this.protections.longestWait > 0;
    return !isStrict && denied.length === 0 && faults.every(({ kind, flag }) => kind === 'kill' && !flag);
  }

  /** For how long a lock may stay free in quiet times while a request waits. */
  longestGap(): number {
    const { latency, denied } = this.plan;
    const scheduling = 30 + 5 * latency + this.protections.confirmation;
    // A fixed lease that is over: the holder knows it earlier than the server, by the margin.
    const margin = Math.max(100, this.longestLease / 10) + 100;
    if (this.kinds.size > 0 && this.onlyNoticedDeaths()) {
      // A dead waiter costs the grace; the process that looks after that may be the next one to end.
      return margin + scheduling + this.plan.faults.length * (GRACE + 60 + this.heartbeat);
    }
    const quiet = this.kinds.size === 0 || (this.kinds.size === 1 && this.kinds.has('mute'));
    if (quiet) return margin + scheduling + (this.kinds.size + denied.length > 0 ? this.heartbeat : 0);
    return (
      this.longestLease +
      this.longestWindow +
      this.heartbeat +
      this.commandTimeout +
      scheduling +
      500 +
      this.breaks.steppedBack
    );
  }
}

/** When the server was away, with no pause in which all clients could call, ms. */
interface Outage {
  readonly from: number;
  to: number;
  /** It was away once, and has another run id since. */
  isRestart: boolean;
}

function outagesOf({ faults }: Plan): Outage[] {
  const outages: Outage[] = [];
  for (const { kind, at, duration } of faults.toSorted((one, other) => one.at - other.at)) {
    const last = outages.at(-1);
    if (last && at <= last.to + LONGEST_BACKOFF) {
      last.to = Math.max(last.to, at + duration);
      last.isRestart = false;
    } else outages.push({ from: at, to: at + duration, isRestart: kind === 'crash' });
  }
  return outages;
}

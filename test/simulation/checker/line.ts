import type { SimClient } from '../scenario/sim-client.js';
import type { SimServer } from '../world/sim-server.js';
import type { World } from '../world/world.js';
import type { Excuses } from './excuses.js';
import type { Findings } from './findings.js';
import { gaveUp, nameOf, type Excuse, type LockState, type RequestRecord } from './history.js';
import { admitsNext, live, type LockData } from './lock-data.js';

/** For so long a client to which nobody listens may stay silent, ms (pass.lua). */
const SILENCE = 250;

/**
 * Whether those that wait keep their places, and are served in order.
 *
 * The checker follows each request through what the server does, so it knows not only that one was passed over, but why.
 */
export class Line {
  constructor(
    private readonly world: World,
    private readonly server: SimServer,
    private readonly clients: readonly SimClient[],
    private readonly excuses: Excuses,
    private readonly findings: Findings,
  ) {}

  /** The server has ended grants that their clients do not know, or dropped requests from the line. `leaves`: at the wish of their clients. */
  checkPlaces(lock: LockState, after: LockData, leaves: ReadonlySet<string>, isForce: boolean): void {
    const { now } = this.world;
    const inLine = new Set(after.queue);
    const held = new Set(after.holdings.map(({ id }) => id));
    for (const record of lock.waiting) {
      const id = this.idOf(record);
      record.hasLeft ||= id !== undefined && leaves.has(id);
      if (id === undefined || record.hasLeft) continue;
      const { served } = record;
      if (inLine.has(id)) {
        record.ticket ??= after.tickets.get(id)!;
        if (record.lostPlace && this.excuses.hasCopies) record.cameBackAfter = record.lostPlace;
        // Until the clock has caught up, a line that begins after the step has lower tickets.
        else if (
          record.lostPlace &&
          this.excuses.clockSet(record.sentAt - this.excuses.stepped, 'clock-back')
        )
          record.cameBackAfter = 'clock';
        record.lostPlace = undefined;
        record.served = undefined;
      } else if (served && !held.has(id)) {
        record.lostPlace = this.whyEnded(lock, record, isForce);
        record.served = undefined;
      } else if (
        (record.ticket ?? record.ackedAt) !== undefined &&
        !served &&
        !record.lostPlace &&
        !gaveUp(record, now)
      ) {
        record.lostPlace = this.whyDropped(lock, record);
        // The answer that tells of the place may come after its loss.
        if (!record.lostPlace && record.ackedAt !== undefined) this.dropped(lock, record);
      }
    }
  }

  /** Its client has not learned of a grant that is over now. */
  private whyEnded(lock: LockState, record: RequestRecord, isForce: boolean): Excuse | undefined {
    const { at = 0 } = record.served ?? {};
    if (isForce) return 'forced';
    if (this.excuses.dataLost(lock.name, record.sentAt, this.world.now)) return 'data';
    if (this.excuses.clockSet(at, 'clock-forward')) return 'clock';
    if (this.excuses.mayMissGrant(record)) return 'unreachable';
    this.findings.violate(
      'dropped',
      `the grant of ${nameOf(record)} ended before its client could learn of it`,
    );
    return undefined;
  }

  private whyDropped(lock: LockState, record: RequestRecord): Excuse | undefined {
    const { client, sentAt } = record;
    const { now } = this.world;
    if (this.excuses.dataLost(lock.name, sentAt, now)) return 'data';
    const heard = lock.heard.get(client) ?? sentAt;
    const window = Math.min(...this.clients.map(({ options }) => options.livenessWindow));
    if (now - heard >= window * 0.999 - 1) {
      const { lastAway } = this.server;
      if (lastAway.to > heard || this.excuses.isStrained) return 'outage';
      if (client.lastUnreachable > heard) return 'unreachable';
      if (this.excuses.clockSet(heard, 'clock-forward')) return 'clock';
    }
    if (this.excuses.clockSet(heard, 'clock-forward')) return 'clock';
    if (client.lastUnsubscribed >= heard && now - heard >= SILENCE * 0.999 - 1) return 'unreachable';
    return undefined;
  }

  private dropped(lock: LockState, record: RequestRecord): void {
    const silent = this.world.now - (lock.heard.get(record.client) ?? record.sentAt);
    this.findings.violate(
      'dropped',
      `${nameOf(record)} lost its place in ${lock.name}, ${silent.toFixed(0)} ms after its client called`,
    );
  }

  /** The server has granted the lock to `record`, with others: nobody else that was in line when that was sent may wait still. */
  checkOrder(
    lock: LockState,
    record: RequestRecord,
    after: LockData,
    together: readonly RequestRecord[],
  ): void {
    const { now } = this.world;
    for (const other of lock.waiting) {
      if (together.includes(other) || other.served || other.hasLeft) continue;
      if (other.ackedAt === undefined || other.ackedAt >= record.sentAt || gaveUp(other, now)) continue;
      if (!other.client.process.alive || this.excuses.isTooShort(other)) continue;
      const why = this.whyPassed(lock, other, record, after);
      this.findings.judge(
        'order',
        why,
        () => `${nameOf(record)} was granted ${lock.name} before ${nameOf(other)}`,
      );
    }
  }

  private whyPassed(
    lock: LockState,
    other: RequestRecord,
    record: RequestRecord,
    after: LockData,
  ): Excuse | undefined {
    const id = this.idOf(other);
    if (other.lostPlace) return other.lostPlace;
    if (other.cameBackAfter) return other.cameBackAfter;
    if (this.excuses.dataLost(lock.name, other.sentAt, this.world.now)) return 'data';
    if (id !== undefined && after.queue.includes(id)) {
      if (!other.client.hasSubscription) return 'unreachable';
      // Tickets are times: with an empty line, one that joins after the clock was set back has a lower one than all before, and than
      // those that joined the line of before after the step.
      const isBehind = (other.ticket ?? 0) > (record.ticket ?? Infinity);
      if (this.excuses.clockSet(isBehind ? 0 : other.sentAt, 'clock-back')) return 'clock';
    }
    return undefined;
  }

  /** Notes since when the head of the line could have the lock. */
  noteNeed(lock: LockState, after: LockData): void {
    const { now } = this.world;
    const wanted = new Set([...lock.waiting].map((record) => this.idOf(record)));
    // Late copies may have put requests in line that are over.
    const isWanted = after.queue.some((id) => wanted.has(id));
    if (!isWanted || this.excuses.protections.longestWait > 0) {
      lock.neededSince = undefined;
      return;
    }
    const alive = live(after, after.now);
    if (admitsNext({ ...after, holdings: alive })) lock.neededSince = Math.min(lock.neededSince ?? now, now);
    else lock.neededSince = now + Math.max(...alive.map(({ ends }) => ends)) - after.now + 1;
  }

  /** A lock is not free for long while a request waits for it. */
  checkGap(lock: LockState): void {
    const { now } = this.world;
    const { neededSince = Infinity } = lock;
    if (neededSince >= now) return;
    const gap = now - Math.max(neededSince, this.excuses.quietSince(this.clients, now));
    if (gap <= this.excuses.longestGap()) return;
    lock.neededSince = undefined;
    this.findings.violate(
      'lost-wake-up',
      `${lock.name} was free for ${gap.toFixed(0)} ms while a request waited for it`,
    );
  }

  private idOf({ client, sequence }: RequestRecord): string | undefined {
    return sequence === undefined ? undefined : `${client.id}:${sequence}`;
  }
}

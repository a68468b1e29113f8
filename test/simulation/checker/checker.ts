import type { Grant } from '../../../lib/core/lock-store.js';
import { faultsOfScript } from './script-faults.js';
import { SHORT_LEASES } from '../scenario/option-values.js';
import type { Plan, PlannedRequest } from '../scenario/plan.js';
import type { SimClient } from '../scenario/sim-client.js';
import type { SimServer } from '../world/sim-server.js';
import type { World } from '../world/world.js';
import { Excuses } from './excuses.js';
import { NO_GRANT, type LockState, type RequestRecord, type Tally, type Violation } from './history.js';
import { presentGrant, recordedClients } from './present-grant.js';

/** Errors that a caller may see; anything else is a bug. */
const KNOWN_ERRORS = new Set(['WAIT_TIMEOUT', 'ABORTED', 'STORE_UNAVAILABLE', 'SHUTTING_DOWN', 'QUEUE_FULL']);

/** What is promised only where commands are answered in time. */
const LIVENESS = new Set(['false-alarm', 'lost-wake-up', 'busy', 'order', 'closing', 'repeated']);

/** A fixed lease of at most this, ms, may be over before its holder hears of it; it may then be refused. */
const SHORT_LEASE = Math.max(...SHORT_LEASES);

/** Hears everything that callers live through and what the server does, and knows what must never happen. */
export class Checker {
  readonly violations: Violation[] = [];
  readonly excuses: Excuses;
  readonly tally: Tally = {
    grants: 0,
    requests: 0,
    commands: 0,
    faults: 0,
    lost: 0,
    excusedOverlaps: 0,
    excusedInversions: 0,
    worstGap: 0,
  };
  private readonly locks = new Map<string, LockState>();
  private requests = 0;
  private acquires = 0;

  constructor(
    private readonly world: World,
    private readonly server: SimServer,
    private readonly plan: Plan,
    private readonly clients: readonly SimClient[],
  ) {
    this.excuses = new Excuses(plan);
  }

  violate(invariant: string, text: string): void {
    if (this.excuses.isStrained && LIVENESS.has(invariant)) return;
    this.world.trace(() => `!!!! ${invariant}: ${text}`);
    this.violations.push({ invariant, at: this.world.now, text });
  }

  // ---- what callers live through -----------------------------------------------------------------------------------

  sent(client: SimClient, lock: string, planned: PlannedRequest): RequestRecord {
    const record = { id: ++this.requests, client, lock, planned, sentAt: this.world.now };
    this.tally.requests += 1;
    this.lock(lock).waiting.add(record);
    this.world.trace(() => `${name(record)} asks for ${lock} ${JSON.stringify(planned)}`);
    return record;
  }

  acked(record: RequestRecord, ahead: number): void {
    this.world.trace(() => `${name(record)} is in line, ${ahead} ahead`);
    if (record.ackedAt !== undefined) this.violate('exactly-once', `${name(record)} was put in line twice`);
    record.ackedAt = this.world.now;
  }

  granted(record: RequestRecord, grant: Grant): void {
    const { now } = this.world;
    const lock = this.lock(record.lock);
    this.tally.grants += 1;
    lock.waiting.delete(record);
    record.grantedAt = now;
    record.lease = grant.lease;
    record.token = grant.token ?? 0;
    this.world.trace(() => `${name(record)} HOLDS ${record.lock}, token ${record.token}`);
    // A lease of a millisecond may end between the answer and the turn of the caller.
    if (grant.lease.remaining() <= 0 && !this.excuses.isStrained)
      this.violate('self-fence', `${name(record)} was granted a lease that is over`);
    if (record.abortedAt !== undefined && record.abortedAt < now) {
      this.violate('exactly-once', `${name(record)} was granted after it aborted`);
    }
    const { firstToken, lastToken, at, unheard } = lock.serverGrant;
    const isSeen = firstToken <= record.token && record.token <= lastToken;
    record.passedAt = isSeen ? at : now;
    record.unheardBefore = (isSeen ? unheard.get(record.client) : undefined) ?? record.client.lastUnheard;
    if (record.token <= lock.highestToken) {
      // Tokens of the server's own grants are compared in checkServerGrant, without this excuse.
      if (this.excuses.mayOverlap(record, now)) this.tally.excusedOverlaps += 1;
      else if (!this.excuses.tokenMayFall(record.lock)) {
        this.violate('fencing', `${name(record)} has token ${record.token}, after ${lock.highestToken}`);
      }
    }
    lock.highestToken = Math.max(lock.highestToken, record.token);
    this.checkOrder(lock, record);
    this.checkGap(lock);
    lock.holds.add(record);
    lock.last = record;
    grant.lease.onLost(() => this.lost(record));
  }

  lost(record: RequestRecord): void {
    const { now } = this.world;
    if (record.holdEndedAt !== undefined) return;
    this.world.trace(() => `${name(record)} is told that ${record.lock} is LOST`);
    this.tally.lost += 1;
    record.lostAt = now;
    this.holdEnded(record);
    if (
      record.planned.leaseTime === undefined &&
      !record.planned.lapses &&
      !this.excuses.mayLose(record, now)
    ) {
      this.violate('false-alarm', `${name(record)} lost ${record.lock} although nothing was wrong`);
    }
  }

  /** The caller gives the lock back; from here on it does not hold. */
  holdEnded(record: RequestRecord): void {
    if (record.holdEndedAt !== undefined) return;
    record.holdEndedAt = this.world.now;
    this.lock(record.lock).holds.delete(record);
  }

  /** The answer to a release that began at `startedAt`. */
  released(record: RequestRecord, startedAt: number): void {
    const took = this.world.now - startedAt;
    const { commandTimeout } = this.excuses;
    if (took > commandTimeout + 50 && record.client.lastMute < startedAt) {
      this.violate('closing', `${name(record)} took ${took.toFixed(0)} ms to give back`);
    }
  }

  rejected(record: RequestRecord, error: unknown): void {
    const { now } = this.world;
    const { planned } = record;
    const code = codeOf(error);
    record.rejectedAt = now;
    record.error = code;
    this.lock(record.lock).waiting.delete(record);
    this.world.trace(() => `${name(record)} is refused: ${code}`);
    const tooShort = code === 'CONFIGURATION' && (planned.leaseTime ?? Infinity) <= SHORT_LEASE;
    if (!KNOWN_ERRORS.has(code) && !tooShort)
      this.violate('errors', `${name(record)} was refused with ${String(error)}`);
    const wasIdle = this.lock(record.lock).lastUse < record.sentAt - this.excuses.longestSettling();
    if (planned.waitTime === 0 && code === 'WAIT_TIMEOUT' && wasIdle && this.excuses.onlyHeardDeaths()) {
      this.violate('busy', `${name(record)} found ${record.lock} busy, which no living process uses`);
    }
    if (code === 'STORE_UNAVAILABLE' && this.plan.faults.length === 0) {
      this.violate(
        'false-alarm',
        `${name(record)} was refused (${String(error)}) although nothing was wrong`,
      );
    }
  }

  /** The server's data are those of an earlier time: what is granted in them is no new grant. */
  dataRestored(): void {
    for (const lock of this.locks.values()) {
      const grant = presentGrant(this.server.redis, lock.name);
      lock.restoredToken = grant === 'free' ? undefined : grant?.first;
    }
  }

  /** The server's clock was set back: a lock at rest, whose key is gone, remembers no token (promise 4 of the protocol). */
  clockSetBack(): void {
    const keys = new Set(this.server.redis.presentKeys());
    for (const lock of this.locks.values()) {
      if (keys.has(lock.name)) continue;
      lock.highestToken = 0;
      lock.serverGrant = NO_GRANT;
    }
  }

  /** The process is gone, with all its requests and holds. */
  forget(client: SimClient): void {
    for (const lock of this.locks.values()) {
      for (const set of [lock.waiting, lock.holds]) {
        for (const record of set) if (record.client === client) set.delete(record);
      }
    }
  }

  // ---- at every moment -----------------------------------------------------------------------------------------------

  /** After each thing that happened in a process. */
  afterEach(): void {
    const { now } = this.world;
    for (const client of this.clients) client.observe(now);
    for (const lock of this.locks.values()) {
      if (lock.holds.size > 1) this.checkExclusion(lock);
      this.noteNeed(lock);
      const inUse = [...lock.waiting].some(({ planned }) => planned.waitTime > 0);
      if (inUse || lock.holds.size > 0 || lock.heldByDeadUntil > now) lock.lastUse = now;
    }
  }

  /** After each script on the server. */
  afterScript(script: string, key: string, args: readonly string[], reply: unknown): void {
    const { server, excuses, world } = this;
    const lock = this.lockOfKey(key);
    const expired = Array.isArray(reply) && reply[0] === 'EXPIRED';
    if (script === 'acquire' && !expired) this.acquires += 1;
    for (const client of this.clients) client.observe(world.now);
    const takenAway = Array.isArray(reply) && reply[0] === 'FORCED' && args[1];
    // Only the grant that was named may be taken away.
    if (lock && takenAway && Number(takenAway) === lock.serverGrant.firstToken) {
      excuses.serverBroke({ kind: 'taken-away', at: world.now, lock: lock.name, by: 0 });
    }
    for (const { invariant, text } of faultsOfScript(server.redis, key, reply, excuses.longestDeadline())) {
      this.violate(invariant, text);
    }
    if (!lock) return;
    this.checkServerGrant(lock, key);
    this.checkRecords(lock);
  }

  /** Still waiting although everything was healed long ago. */
  unserved(): RequestRecord[] {
    return [...this.locks.values()].flatMap((lock) => [...lock.waiting]);
  }

  get openHolds(): number {
    return [...this.locks.values()].reduce((sum, lock) => sum + lock.holds.size, 0);
  }

  /** Also where no grant came at all. */
  checkGaps(): void {
    for (const lock of this.locks.values()) this.checkGap(lock);
  }

  /** Where nothing fails and no lease ends by itself, a request asks once. */
  checkJoins(): void {
    if (!this.excuses.isSteady() || this.acquires <= this.requests) return;
    this.violate('repeated', `${this.acquires} commands to join a line for ${this.requests} requests`);
  }

  // ---- the invariants --------------------------------------------------------------------------------------------------

  private checkExclusion(lock: LockState): void {
    const holding = [...lock.holds].filter(({ lease }) => (lease?.remaining() ?? 0) > 0);
    if (holding.length < 2) return;
    const [older, newer] = holding.sort((one, other) => (one.token ?? 0) - (other.token ?? 0));
    if (!older || !newer) return;
    if (this.excuses.mayOverlap(older, this.world.now)) {
      this.tally.excusedOverlaps += 1;
    } else {
      this.violate('exclusion', `${name(older)} and ${name(newer)} both hold ${lock.name}`);
    }
    // Said once.
    this.holdEnded(older);
  }

  /** Tokens rise from grant to grant, and nobody may believe in a grant that the server has given up. */
  private checkServerGrant(lock: LockState, key: string): void {
    const { now } = this.world;
    const grant = presentGrant(this.server.redis, key);
    if (grant === undefined) return;
    lock.heldByDeadUntil = 0;
    if (grant !== 'free') {
      lock.lastUse = now;
      if (!this.clientOf(grant.owner)?.process.alive) lock.heldByDeadUntil = now + grant.left + 1;
      const before = lock.serverGrant.firstToken;
      if (
        grant.first < before &&
        grant.first !== lock.restoredToken &&
        !this.excuses.tokenMayFall(lock.name)
      ) {
        this.violate('fencing', `the server granted ${lock.name} with ${grant.first} after ${before}`);
      }
      if (grant.first !== before) {
        const unheard = new Map(this.clients.map((client) => [client, client.lastUnheard]));
        lock.serverGrant = { firstToken: grant.first, lastToken: grant.last, at: now, unheard };
      }
    }
    for (const record of lock.holds) {
      const { lease, token = 0 } = record;
      if (!lease || lease.remaining() <= 0) continue;
      const itIsOurs = grant !== 'free' && grant.first <= token && token <= grant.last && grant.left > 0;
      if (!itIsOurs && !this.excuses.mayOverlap(record, now)) {
        this.violate('self-fence', `${name(record)} believes to hold ${lock.name}, the server does not`);
        this.holdEnded(record);
      }
    }
  }

  /** What is kept of a process that is gone goes when something is noted of another, also while the lock is in use. */
  private checkRecords(lock: LockState): void {
    const { now } = this.world;
    const before = lock.recorded;
    lock.recorded = recordedClients(this.server.redis, lock.name);
    if (this.plan.smallLimits || lock.recorded.every((id) => before.includes(id))) return;
    const grant = presentGrant(this.server.redis, lock.name);
    for (const id of lock.recorded) {
      // The record of the holder goes with its grant, which the server honours for the whole lease.
      if (grant !== 'free' && grant?.owner === id) continue;
      const { diedAt } = this.clientOf(id)?.process ?? {};
      if (diedAt === undefined || now - diedAt < this.excuses.longestRecord()) continue;
      this.violate(
        'leak',
        `${lock.name} keeps a record of a client that ended ${(now - diedAt).toFixed(0)} ms ago`,
      );
    }
  }

  private clientOf(id: string): SimClient | undefined {
    return this.clients.find(({ ids }) => ids.has(id));
  }

  private checkOrder(lock: LockState, record: RequestRecord): void {
    const { now } = this.world;
    for (const other of lock.waiting) {
      if (other.ackedAt === undefined || other.ackedAt >= record.sentAt || gaveUp(other, now)) continue;
      if (this.excuses.isTooShort(other)) continue;
      if (this.excuses.mayBePassedOver(other, record, now)) this.tally.excusedInversions += 1;
      else this.violate('order', `${name(record)} was granted ${lock.name} before ${name(other)}`);
    }
  }

  private noteNeed(lock: LockState): void {
    let needed = false;
    for (const record of lock.waiting)
      needed ||= record.ackedAt !== undefined && !gaveUp(record, this.world.now);
    for (const { lease } of lock.holds) needed &&= (lease?.remaining() ?? 0) <= 0;
    needed &&= lock.heldByDeadUntil <= this.world.now;
    if (!needed) lock.neededSince = undefined;
    else lock.neededSince ??= this.world.now;
  }

  private checkGap(lock: LockState): void {
    if (lock.neededSince === undefined) return;
    const { now } = this.world;
    this.tally.worstGap = Math.max(this.tally.worstGap, now - lock.neededSince);
    const quietSince = this.excuses.quietSince(this.clients, now);
    const gap = now - Math.max(lock.neededSince, quietSince);
    if (gap > this.excuses.longestGap()) {
      this.violate(
        'lost-wake-up',
        `${lock.name} was free for ${gap.toFixed(0)} ms while somebody waited for it`,
      );
    }
  }

  private lock(nameOfLock: string): LockState {
    let lock = this.locks.get(nameOfLock);
    if (!lock) {
      lock = {
        name: nameOfLock,
        waiting: new Set(),
        holds: new Set(),
        last: undefined,
        highestToken: 0,
        serverGrant: NO_GRANT,
        restoredToken: undefined,
        neededSince: undefined,
        heldByDeadUntil: 0,
        lastUse: 0,
        recorded: [],
      };
      this.locks.set(nameOfLock, lock);
    }
    return lock;
  }

  private lockOfKey(key: string): LockState | undefined {
    return this.locks.get(key);
  }
}

export function name({ id, client }: RequestRecord): string {
  return `${client.process.name}/r${id}`;
}

/** Its caller waits no more, though it has not been told yet. Timers are a millisecond early at most. */
function gaveUp({ abortedAt, sentAt, planned }: RequestRecord, now: number): boolean {
  return abortedAt !== undefined || now > sentAt + planned.waitTime - 1;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

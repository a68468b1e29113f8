import type { Grant } from '../../../lib/core/port/lock-store.js';
import { faultsOfScript } from './script-faults.js';
import type { Plan, PlannedRequest } from '../scenario/plan.js';
import type { ClientListener, Role, SimClient } from '../scenario/sim-client.js';
import type { SimServer } from '../world/sim-server.js';
import type { World } from '../world/world.js';
import { CommandBudget } from './command-budget.js';
import { Excuses } from './excuses.js';
import { Findings } from './findings.js';
import { codeOf, nameOf, type LockState, type RequestRecord } from './history.js';
import { LockStates } from './lock-states.js';
import { KeptHolds } from './kept-holds.js';
import { announcedKept, announcedShares } from './present-grant.js';
import { ServerData } from './server-data.js';
import { ServerGrants } from './server-grants.js';
import { SharedGrants } from './shared-grants.js';
import { SharedNeed } from './shared-need.js';
import { Tokens } from './tokens.js';
import { GrantOrder } from './grant-order.js';
import { mayHoldTogether } from './together.js';

/** Errors that a caller may see; anything else is a bug. */
const KNOWN_ERRORS = new Set(['WAIT_TIMEOUT', 'ABORTED', 'STORE_UNAVAILABLE', 'SHUTTING_DOWN', 'QUEUE_FULL']);

/** Receives everything that happens to callers and at the server, and finds what must never happen. */
export class Checker implements ClientListener {
  readonly excuses: Excuses;
  readonly findings: Findings;
  readonly grantOrder: GrantOrder;
  readonly serverGrants: ServerGrants;
  readonly tokens: Tokens;
  readonly commands: CommandBudget;
  private readonly data: ServerData;
  private readonly sharedGrants: SharedGrants;
  private readonly keptHolds: KeptHolds;
  private readonly locks = new LockStates();
  private requests = 0;
  private acquires = 0;

  constructor(
    private readonly world: World,
    private readonly server: SimServer,
    private readonly plan: Plan,
    private readonly clients: readonly SimClient[],
    scripts: ReadonlyMap<string, string>,
  ) {
    this.excuses = new Excuses(plan);
    const { excuses, locks } = this;
    this.findings = new Findings(world, excuses);
    this.commands = new CommandBudget(world, plan, this.findings, scripts);
    this.data = new ServerData(server, clients);
    const need = new SharedNeed(world, excuses, this.data);
    this.grantOrder = new GrantOrder(world, server, clients, excuses, this.findings, locks, need);
    this.keptHolds = new KeptHolds(world, excuses, this.findings, this.data);
    this.tokens = new Tokens(world, server, excuses, this.findings);
    this.serverGrants = new ServerGrants(
      world,
      server,
      plan,
      clients,
      excuses,
      this.findings,
      locks,
      this.tokens,
      this.commands,
    );
    this.sharedGrants = new SharedGrants(
      world,
      server.redis,
      plan,
      clients,
      excuses,
      this.findings,
      locks,
      this.data,
      this.grantOrder,
      this.tokens,
      this.commands,
    );
  }

  // ---- what callers live through -----------------------------------------------------------------------------------

  sent(client: SimClient, lock: string, planned: PlannedRequest): RequestRecord {
    const record = { id: ++this.requests, client, lock, planned, sentAt: this.world.now };
    this.findings.tally.requests += 1;
    const state = this.locks.get(lock);
    const waits = [...state.waiting].some((other) => other.client === client && other.ackedAt !== undefined);
    if (!waits) state.newcomerAt = this.world.now;
    state.waiting.add(record);
    this.commands.requested(record);
    this.world.trace(() => `${nameOf(record)} asks for ${lock} ${JSON.stringify(planned)}`);
    return record;
  }

  /** Its client's store calls it so. */
  named(record: RequestRecord, sequence: number): void {
    this.data.named(record, sequence);
  }

  acked(record: RequestRecord, ahead: number): void {
    this.world.trace(() => `${nameOf(record)} is in line, ${ahead} ahead`);
    if (record.ackedAt !== undefined)
      this.findings.violate('exactly-once', `${nameOf(record)} was put in line twice`);
    record.ackedAt = this.world.now;
  }

  granted(record: RequestRecord, grant: Grant): void {
    const { now } = this.world;
    const lock = this.locks.get(record.lock);
    this.findings.tally.grants += 1;
    lock.waiting.delete(record);
    this.commands.granted(record);
    record.grantedAt = now;
    record.grantedAtServer = this.data.now;
    record.lease = grant.lease;
    record.token = grant.token ?? 0;
    if ((grant.token === undefined) !== (record.planned.share !== undefined))
      this.findings.violate('fencing', `${nameOf(record)} has token ${grant.token}`);
    this.world.trace(() => `${nameOf(record)} HOLDS ${record.lock}, token ${record.token}`);
    // A lease of a millisecond may end between the answer and the turn of the caller, and replies that are read together may grant
    // a lock and report its loss.
    const isOver = grant.lease.remaining() <= 0 && (record.planned.leaseTime ?? Infinity) > 1;
    if (isOver && !this.excuses.isStrained && !this.excuses.mayLose(record, now))
      this.findings.violate('self-fence', `${nameOf(record)} was granted a lease that is over`);
    if (record.abortedAt !== undefined && record.abortedAt < now) {
      this.findings.violate('exactly-once', `${nameOf(record)} was granted after it aborted`);
    }
    lock.holds.add(record);
    grant.lease.onLost(() => this.lost(record));
    if (this.plan.shared) {
      record.passedAt ??= now;
      if (record.planned.share === undefined) this.tokens.entered(record);
      return;
    }
    const { firstToken, lastToken, at, unsubscribed, markedAlive, before } = lock.serverGrant;
    const isSeen = firstToken <= record.token && record.token <= lastToken;
    record.passedAt = isSeen ? at : now;
    record.unsubscribedBefore =
      (isSeen ? unsubscribed.get(record.client) : undefined) ?? record.client.lastUnsubscribed;
    if (isSeen) record.markedAlive = markedAlive;
    if (isSeen) record.clientBefore = before;
    this.tokens.entered(record);
    this.grantOrder.checkOrder(lock, record);
    this.grantOrder.checkGap(lock);
  }

  lost(record: RequestRecord): void {
    const { now } = this.world;
    if (record.holdEndedAt !== undefined) return;
    this.world.trace(() => `${nameOf(record)} is told that ${record.lock} is LOST`);
    this.findings.tally.lost += 1;
    record.lostAt = now;
    this.holdEnded(record);
    if (
      record.planned.leaseTime === undefined &&
      !record.planned.lapses &&
      !this.excuses.mayLose(record, now)
    ) {
      this.findings.violate(
        'false-alarm',
        `${nameOf(record)} lost ${record.lock} although nothing was wrong`,
      );
    }
  }

  /** The caller gives the lock back; from here on it does not hold. */
  holdEnded(record: RequestRecord): void {
    this.commands.holdEnded(record);
    this.locks.endHold(record, this.world.now);
  }

  /** The caller gives back what is to be kept for a while. */
  keptBy(record: RequestRecord): void {
    this.keptHolds.ends(this.locks.get(record.lock), record);
  }

  /** The answer to a release that began at `startedAt`. */
  released(record: RequestRecord, startedAt: number): void {
    const took = this.world.now - startedAt;
    const { commandTimeout } = this.excuses;
    if (took > commandTimeout + 50 && record.client.lastMute < startedAt) {
      this.findings.violate('closing', `${nameOf(record)} took ${took.toFixed(0)} ms to give back`);
    }
  }

  rejected(record: RequestRecord, error: unknown): void {
    const { now } = this.world;
    const { planned } = record;
    const code = codeOf(error);
    record.rejectedAt = now;
    record.error = code;
    this.locks.get(record.lock).waiting.delete(record);
    this.commands.rejected(record);
    this.world.trace(() => `${nameOf(record)} is refused: ${code}`);
    const isUnconfirmed = code === 'NOT_REPLICATED' && record.client.options.replicas !== undefined;
    const isMisfit = code === 'CONFIGURATION' && this.excuses.mayBeMisfit(record);
    if (!KNOWN_ERRORS.has(code) && !isMisfit && !isUnconfirmed)
      this.findings.violate('errors', `${nameOf(record)} was refused with ${String(error)}`);
    const wasIdle = this.locks.get(record.lock).lastUse < record.sentAt - this.excuses.longestSettling();
    if (planned.waitTime === 0 && code === 'WAIT_TIMEOUT' && wasIdle && this.excuses.onlyNoticedDeaths()) {
      this.findings.violate(
        'busy',
        `${nameOf(record)} found ${record.lock} busy, which no living process uses`,
      );
    }
    const isUnanswered =
      code === 'STORE_UNAVAILABLE' ||
      (isUnconfirmed && this.excuses.protections.confirmsInTime(record.client.index));
    if (isUnanswered && this.plan.faults.length === 0) {
      this.findings.violate(
        'false-alarm',
        `${nameOf(record)} was refused (${String(error)}) although nothing was wrong`,
      );
    }
  }

  /** The process is gone, with all its requests and holds. */
  forget(client: SimClient): void {
    for (const lock of this.locks.all()) {
      for (const set of [lock.waiting, lock.holds]) {
        for (const record of set) if (record.client === client) set.delete(record);
      }
    }
  }

  message(client: SimClient, text: string): void {
    const lock = this.tokens.received(client, text);
    if (lock !== undefined) this.commands.toldOfGrant(client, lock);
    const shared = announcedShares(text);
    for (let i = 0; i < (shared?.count ?? 0); i++) this.commands.toldOfGrant(client, shared!.lock);
    const kept = announcedKept(text);
    if (kept !== undefined) this.commands.toldOfKept(client, kept);
  }

  connection(client: SimClient, role: Role): void {
    this.commands.connectionChanged(client, role === 'commands');
  }

  script(client: SimClient, args: readonly string[]): (() => void) | undefined {
    return this.commands.sent(client, args);
  }

  // ---- at every moment -----------------------------------------------------------------------------------------------

  /** After each thing that happened in a process. */
  afterEach(): void {
    const { now } = this.world;
    for (const client of this.clients) client.observe(now);
    for (const lock of this.locks.all()) {
      if (lock.holds.size > 1) this.checkExclusion(lock);
      this.grantOrder.noteNeed(lock);
      const inUse = [...lock.waiting].some(({ planned }) => planned.waitTime > 0);
      if (inUse || lock.holds.size > 0 || lock.heldByDeadUntil > now) lock.lastUse = now;
    }
  }

  /** After each script on the server. */
  afterScript(script: string, key: string, args: readonly string[], reply: unknown): void {
    const { server, excuses, world } = this;
    const lock = this.locks.find(key);
    const expired = Array.isArray(reply) && reply[0] === 'EXPIRED';
    if (script.startsWith('acquire') && !expired) this.acquires += 1;
    for (const client of this.clients) client.observe(world.now);
    const takenAway = Array.isArray(reply) && reply[0] === 'FORCED' && args[1]; // ARGV[2]
    // Only the grant that was named may be taken away.
    if (lock && takenAway && Number(takenAway) === lock.serverGrant.firstToken) {
      excuses.breaks.add({ kind: 'taken-away', at: world.now, lock: lock.name, by: 0 });
    }
    if (lock && takenAway && this.plan.shared)
      excuses.breaks.add({ kind: 'taken-away', at: world.now, lock: lock.name, by: 0 });
    for (const { invariant, text } of faultsOfScript(server.redis, key, reply, excuses.longestDeadline()))
      this.findings.violate(invariant, text);
    if (!lock) return;
    if (args[0] !== undefined) lock.commandedAt.set(args[0], world.now);
    const data = this.data.look(lock.name);
    this.keptHolds.check(lock, script, args, data);
    if (script === 'releaseShared' && Array.isArray(reply))
      this.sharedGrants.checkOver(lock, args, data.after);
    if (this.plan.shared) this.sharedGrants.check(lock, data.before, data.after);
    else this.serverGrants.checkGrant(lock);
    this.serverGrants.checkRecords(lock);
  }

  /** The server has lost data, other than by a script. */
  dataLost(): void {
    this.data.replaced();
  }

  /** The server's data are those of an earlier time. */
  dataRestored(): void {
    this.data.replaced();
    this.serverGrants.dataRestored();
  }

  /** Where nothing fails and no lease ends by itself, a request asks once. */
  checkJoins(): void {
    if (!this.excuses.isSteady() || this.acquires <= this.requests) return;
    this.findings.violate(
      'repeated',
      `${this.acquires} commands to join a line for ${this.requests} requests`,
    );
  }

  private checkExclusion(lock: LockState): void {
    const holding = [...lock.holds].filter(({ lease }) => (lease?.remaining() ?? 0) > 0);
    if (holding.length < 2 || mayHoldTogether(holding)) return;
    // Tokens tell the age, unless the server lost them with its data: then its clock, which may have been set back, begins anew.
    const granted = holding.map(({ passedAt = this.world.now }) => passedAt);
    const restarted = this.excuses.dataLostSince(lock.name, Math.min(...granted));
    const age = ({ number, token = 0, passedAt = this.world.now }: RequestRecord): number =>
      restarted ? passedAt : (number ?? token);
    const [older, newer] = holding.sort((one, other) => age(one) - age(other));
    if (!older || !newer) return;
    if (this.excuses.mayOverlap(older, this.world.now)) {
      this.findings.tally.excusedOverlaps += 1;
    } else {
      this.findings.violate('exclusion', `${nameOf(older)} and ${nameOf(newer)} both hold ${lock.name}`);
    }
    // Said once.
    this.locks.endHold(older, this.world.now);
  }
}

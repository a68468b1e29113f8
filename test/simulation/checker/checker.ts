import { wholeNumber } from '../../../lib/core/options/option-domains.js';
import type { Grant } from '../../../lib/core/port/lock-store.js';
import { readMessage } from '../../../lib/stores/redis/reply.js';
import type { Ran } from '../mini-redis/mini-redis.js';
import { RedisError } from '../mini-redis/reply.js';
import type { Plan, PlannedRequest } from '../scenario/plan.js';
import type { ClientListener, SimClient } from '../scenario/sim-client.js';
import { ScriptBudget } from './script-budget.js';
import type { SimServer } from '../world/sim-server.js';
import type { World } from '../world/world.js';
import { CommandBudget } from './command-budget.js';
import { Excuses } from './excuses.js';
import { Findings } from './findings.js';
import { grantsOf, partsOf, type Part, type ServerGrant } from './grants.js';
import { codeOf, nameOf, newLock, type LockState, type RequestRecord } from './history.js';
import { Line } from './line.js';
import { conflict, live, lockData, usedBy, type LockData } from './lock-data.js';

/** Errors that a caller may see; anything else is a bug. */
const KNOWN_ERRORS = new Set(['WAIT_TIMEOUT', 'ABORTED', 'STORE_UNAVAILABLE', 'SHUTTING_DOWN', 'QUEUE_FULL']);
/** What a server may answer to a script that is right. */
const REFUSALS = /^(OOM|NOPERM)/;

/** Receives everything that happens to callers and at the server, and finds what must never happen. */
export class Checker implements ClientListener {
  readonly excuses: Excuses;
  readonly findings: Findings;
  readonly commands: CommandBudget;
  private readonly prices: ScriptBudget;
  private readonly line: Line;
  private readonly locks = new Map<string, LockState>();
  private readonly records = new Map<string, RequestRecord>();
  private requests = 0;

  constructor(
    private readonly world: World,
    private readonly server: SimServer,
    private readonly plan: Plan,
    private readonly clients: readonly SimClient[],
    private readonly scripts: ReadonlyMap<string, string>,
  ) {
    this.excuses = new Excuses(plan);
    this.findings = new Findings(world, this.excuses.isStrained);
    this.commands = new CommandBudget(world, plan, this.findings);
    this.prices = new ScriptBudget(this.findings);
    this.line = new Line(world, server, clients, this.excuses, this.findings);
  }

  // ---- what callers live through -----------------------------------------------------------------------------------

  sent(client: SimClient, name: string, planned: PlannedRequest): RequestRecord {
    const record = { id: ++this.requests, client, lock: name, planned, sentAt: this.world.now };
    this.findings.tally.requests += 1;
    this.lock(name).waiting.add(record);
    this.commands.reason(client, name, 2);
    this.world.trace(() => `${nameOf(record)} asks for ${name} ${JSON.stringify(planned)}`);
    return record;
  }

  /** Its client's store calls it so. */
  named(record: RequestRecord, sequence: number): void {
    record.sequence = sequence;
    this.records.set(`${record.client.id}:${sequence}`, record);
  }

  acked(record: RequestRecord, ahead: number): void {
    this.world.trace(() => `${nameOf(record)} is in line, ${ahead} ahead`);
    if (record.ackedAt !== undefined)
      this.findings.violate('exactly-once', `${nameOf(record)} was put in line twice`);
    record.ackedAt = this.world.now;
  }

  granted(record: RequestRecord, grant: Grant): void {
    const { now } = this.world;
    const { planned } = record;
    const lock = this.lock(record.lock);
    this.findings.tally.grants += 1;
    lock.waiting.delete(record);
    record.grantedAt = now;
    record.lease = grant.lease;
    record.token = grant.token;
    this.world.trace(() => `${nameOf(record)} HOLDS ${record.lock}, token ${grant.token}`);
    // A lease of a millisecond may end between the answer and the turn of the caller, and replies that are read together may grant
    // a lock and report its loss.
    const isOver = grant.lease.remaining() <= 0 && (planned.leaseTime ?? Infinity) > 1;
    if (isOver && !this.excuses.isStrained && !this.excuses.mayLose(record, now))
      this.findings.violate('self-fence', `${nameOf(record)} was granted a lease that is over`);
    if (record.abortedAt !== undefined && record.abortedAt < now)
      this.findings.violate('exactly-once', `${nameOf(record)} was granted after it aborted`);
    if ((grant.token === undefined) !== (planned.share !== undefined))
      this.findings.violate('fencing', `${nameOf(record)} has token ${grant.token}`);
    lock.holds.add(record);
    grant.lease.onLost(() => this.lost(record));
    if (grant.token === undefined) return;
    if (grant.token <= lock.entered) {
      const excuse = this.excuses.dataLost(lock.name, lock.given.at - this.excuses.longestLease, now)
        ? 'data'
        : this.excuses.clockSet(0, 'clock-back')
          ? 'clock'
          : // An older one may enter late.
            this.excuses.mayOverlap(record, now);
      this.findings.judge(
        'tokens',
        excuse,
        () => `${nameOf(record)} has token ${grant.token}, after ${lock.entered}`,
      );
    }
    lock.entered = grant.token;
  }

  lost(record: RequestRecord): void {
    const { now } = this.world;
    if (record.holdEndedAt !== undefined) return;
    this.world.trace(() => `${nameOf(record)} is told that ${record.lock} is LOST`);
    this.findings.tally.lost += 1;
    this.holdEnded(record);
    const { leaseTime, lapses } = record.planned;
    if (leaseTime === undefined && !lapses && !this.excuses.mayLose(record, now))
      this.findings.violate(
        'false-alarm',
        `${nameOf(record)} lost ${record.lock} although nothing was wrong`,
      );
  }

  /** The caller gives the lock back; from here on it does not hold. */
  holdEnded(record: RequestRecord): void {
    record.holdEndedAt ??= this.world.now;
    this.lock(record.lock).holds.delete(record);
  }

  /** The answer to a release that began at `startedAt`. */
  released(record: RequestRecord, startedAt: number): void {
    const took = this.world.now - startedAt;
    if (took > this.excuses.commandTimeout + 50 && record.client.lastMute < startedAt)
      this.findings.violate('closing', `${nameOf(record)} took ${took.toFixed(0)} ms to give back`);
  }

  rejected(record: RequestRecord, error: unknown): void {
    const code = codeOf(error);
    const lock = this.lock(record.lock);
    this.line.checkGap(lock);
    lock.waiting.delete(record);
    forgetNeed(lock);
    this.world.trace(() => `${nameOf(record)} is refused: ${code}`);
    const isUnconfirmed = code === 'NOT_REPLICATED' && record.client.options.replicas !== undefined;
    const isMisfit = code === 'CONFIGURATION' && this.excuses.mayBeMisfit(record);
    if (!KNOWN_ERRORS.has(code) && !isMisfit && !isUnconfirmed)
      this.findings.violate('errors', `${nameOf(record)} was refused with ${String(error)}`);
    const isUnanswered =
      code === 'STORE_UNAVAILABLE' ||
      (isUnconfirmed && this.excuses.protections.confirmsInTime(record.client.index));
    // A wait that is shorter than a round trip, or than the time to connect, ends before Redis can answer.
    const isHasty = record.ackedAt === undefined && record.planned.waitTime < this.excuses.commandTimeout;
    if (isUnanswered && !isHasty && this.plan.faults.length === 0)
      this.findings.violate(
        'false-alarm',
        `${nameOf(record)} was refused (${String(error)}) although nothing was wrong`,
      );
  }

  /** The process is gone, with all its requests and holds. */
  forget(client: SimClient): void {
    for (const lock of this.locks.values()) {
      for (const set of [lock.waiting, lock.holds])
        for (const record of set) if (record.client === client) set.delete(record);
      forgetNeed(lock);
    }
  }

  message(client: SimClient, text: string): void {
    const message = readMessage(text);
    const lock = message && this.locks.get(message.hash);
    if (!lock) return;
    // A reminder of what it knows calls for nothing; else a loop would pay for itself.
    const sequence = message.kind === 'granted' ? message.granted.sequences[0] : undefined;
    const record = this.records.get(`${client.id}:${sequence}`);
    if (record && lock.holds.has(record)) return;
    this.commands.reason(client, lock.name, 3);
  }

  connection(client: SimClient): void {
    this.commands.connectionChanged(client);
  }

  script(client: SimClient, args: readonly string[]): (() => void) | undefined {
    return this.commands.sent(client, args);
  }

  /** Still waiting although everything was healed long ago. */
  unserved(): RequestRecord[] {
    return [...this.locks.values()].flatMap((lock) => [...lock.waiting]);
  }

  checkGaps(): void {
    for (const lock of this.locks.values()) this.line.checkGap(lock);
  }

  // ---- at every moment -----------------------------------------------------------------------------------------------

  /** After each thing that happened in a process. */
  afterEach(): void {
    for (const client of this.clients) client.observe(this.world.now);
    for (const lock of this.locks.values()) if (lock.holds.size > 1) this.checkExclusion(lock);
  }

  /** The server has lost data, or has those of an earlier time. */
  dataReplaced(): void {
    for (const lock of this.locks.values()) {
      lock.data = undefined;
      // Each that waits asks again with its ticket, once it knows.
      for (const { client } of lock.waiting) this.commands.reason(client, lock.name, 1);
    }
  }

  /** After each script on the server. `isFormer`: on a primary that was cut off. */
  afterScript(ran: Ran, isFormer = false): void {
    const { sha, reply } = ran;
    const script = this.scripts.get(sha) ?? '';
    for (const client of this.clients) client.observe(this.world.now);
    const errors = Array.isArray(reply)
      ? reply.filter((one) => typeof one === 'string' && /^(FORMAT|PROTOCOL)/.test(one))
      : [];
    if (reply instanceof RedisError && !REFUSALS.test(reply.text)) errors.push(reply.text);
    for (const error of errors) this.findings.violate('script-error', `${script}: ${error as string}`);
    const grants = grantsOf(script, ran);
    this.prices.check(script, ran, grants);
    for (const { client: id, hash } of grants) {
      const client = this.clientOf(id);
      if (client) this.commands.reason(client, hash, 4);
    }
    if (isFormer) return;
    const bare = this.server.redis.keysWithoutExpiry();
    // The marker of strict mode gets its time when a client next looks at it.
    const mayStopAtMarker = this.plan.faults.some(({ kind }) => kind === 'stopped-script');
    const isStopped = (key: string): boolean =>
      (mayStopAtMarker && key.endsWith(':primary')) ||
      [...this.locks].some(([name, lock]) => lock.wasStopped && key.startsWith(name));
    for (const part of partsOf(ran)) {
      const lock = this.locks.get(part.hash);
      if (lock) lock.isStopped = ran.stopped;
      if (lock && ran.stopped) lock.wasStopped = true;
    }
    if (bare.some((key) => !isStopped(key)))
      this.findings.violate('leak', `without a time to live: ${bare.join(', ')}`);
    if (script === 'primary' || script === 'inspect' || script === '') return;
    for (const part of partsOf(ran)) {
      const lock = this.locks.get(part.hash);
      const own = grants.filter(({ hash }) => hash === part.hash);
      if (lock) this.afterScriptOn(lock, script, part, own);
    }
  }

  /** Whether a key may be left for good: the last script of its lock was stopped. */
  mayBeLeft(key: string): boolean {
    return [...this.locks].some(([name, lock]) => lock.isStopped && key.startsWith(name));
  }

  private afterScriptOn(
    lock: LockState,
    script: string,
    { args, reply }: Part,
    grants: readonly ServerGrant[],
  ): void {
    const before = lock.data;
    const after = lockData(this.server.redis, lock.name, Math.floor(this.server.micros() / 1000));
    lock.data = after;
    const [named = '', , how] = args;
    const caller = this.clientOf(named.split(':')[0]!);
    const isForce = script === 'done' && how === 'force';
    // One that was stopped is an error to its caller, and may have ended the hold before.
    if (isForce && (!(reply instanceof RedisError) || hasFewerHolds(after, before)))
      this.excuses.breaks.push({ kind: 'forced', at: this.world.now, lock: lock.name });
    if (isForce) lock.kept.clear();
    this.line.checkGap(lock);
    this.checkData(lock, after);
    if (script === 'done' && how === 'keep') this.checkKeep(lock, args, before, after);
    const { token } = lock.given;
    const served = grants.flatMap((grant) => this.serve(lock, grant, after, token));
    if (lock.wasStopped) this.serveUntold(lock, after);
    this.line.checkPlaces(lock, after, script === 'done' && !isForce ? endedBy(args) : new Set(), isForce);
    const waits =
      script !== 'done' && Array.isArray(reply) && reply.some((answer) => /^line/.test(String(answer)));
    if (caller && waits) lock.heard.set(caller, this.world.now);
    for (const record of served) this.line.checkOrder(lock, record, after, served);
    // Neighbours may have their turns under the hold (rule 9).
    for (const { client, sequences } of grants) {
      const named = sequences.flatMap((sequence) => this.records.get(`${client}:${sequence}`) ?? []);
      for (const record of named)
        if (!served.includes(record)) this.line.checkOrder(lock, record, after, named);
    }
    this.checkKept(lock, after);
    this.checkBelieved(lock, after);
    if (grants.length > 0) lock.neededSince = undefined;
    this.line.noteNeed(lock, after);
    for (const client of this.clients)
      if (client !== caller) this.commands.reason(client, lock.name, grants.length);
  }

  /** The server has granted the lock. */
  private serve(lock: LockState, grant: ServerGrant, after: LockData, before: number): RequestRecord[] {
    const { now } = this.world;
    const named = grant.sequences.map((sequence) => `${grant.client}:${sequence}`);
    const held = named.flatMap((id) => after.holdings.find((one) => one.id === id) ?? []);
    // Neighbours stay in the queue, and their tokens count when they have their turns.
    const ids = held.length > 0 ? held.map(({ id }) => id) : named.slice(0, 1);
    const first = Math.min(grant.token, ...held.map(({ token }) => token));
    const last = grant.token;
    if (first <= before) {
      const excuse = this.excuses.dataLost(lock.name, lock.given.at, now)
        ? 'data'
        : this.excuses.clockSet(0, 'clock-back') && this.server.micros() <= before
          ? 'clock'
          : undefined;
      this.findings.judge(
        'tokens',
        excuse,
        () => `the server granted ${lock.name} with ${first} after ${before}`,
      );
    }
    lock.given = { token: first <= before ? last : Math.max(lock.given.token, last), at: now };
    return ids.flatMap((id) => {
      const record = this.records.get(id);
      if (!record) return [];
      record.served = { at: now, serverTime: after.now };
      record.lostPlace = undefined;
      return [record];
    });
  }

  /** A script that was stopped may have granted the lock and told nobody. */
  private serveUntold(lock: LockState, { holdings, now: serverTime }: LockData): void {
    for (const { id } of holdings) {
      const record = this.records.get(id);
      if (record && lock.waiting.has(record)) record.served ??= { at: this.world.now, serverTime };
    }
  }

  /** No script leaves this behind, whatever happens around it. */
  private checkData(lock: LockState, { state, holdings, now }: LockData): void {
    const fault = conflict(holdings);
    if (fault) this.findings.violate('rule', `${lock.name} has holds of ${fault}`);
    const sum = usedBy(holdings);
    if (state.used !== sum && !state.isScanning && !(lock.wasStopped && state.used > sum))
      this.findings.violate('rule', `${lock.name} has ${sum} in its holds, ${state.used} in its sum`);
    const first = Math.min(...holdings.map(({ ends }) => ends));
    if (holdings.length > 0 && state.end > first)
      this.findings.violate('rule', `${lock.name} does not look when its holds end`);
    const expireAt = this.server.redis.keys.get(lock.name)?.expireAt ?? Infinity;
    // A renewal that was stopped is an error to its caller, whose lease is as before until the next one.
    for (const { ends } of holdings)
      if (ends > expireAt && ends > now && !lock.wasStopped)
        this.findings.violate('expiry', `${lock.name} expires ${ends - expireAt} ms before a hold of it`);
  }

  /** A hold is kept until its time, counted from its grant, and no longer. */
  private checkKeep(
    lock: LockState,
    [id = '', , , , ...served]: readonly string[],
    before: LockData | undefined,
    after: LockData,
  ): void {
    // The one that had its turn last.
    const record = this.records.get(served.at(-1)?.split(':', 2).join(':') ?? id);
    const held = before?.holdings.find((one) => one.id === id);
    if (
      record?.grantedAt === undefined ||
      !held ||
      held.ends <= after.now ||
      after.holdings.some((one) => one.id === id)
    )
      return;
    const keep = wholeNumber('holdAtLeast', record.planned.holdAtLeast ?? 0) ?? 0;
    const found = after.holdings.find((one) => one.id === `-${id}`);
    const least = Math.min(record.served?.serverTime ?? 0, Math.floor(held.token / 1000)) + keep;
    const wasSet =
      this.excuses.breaks.some(({ kind }) => kind.startsWith('clock-')) ||
      this.excuses.dataLost(lock.name, record.sentAt, this.world.now);
    // The script that was to keep it may have been stopped when it had ended the hold.
    if (!found && least > after.now && !wasSet && !lock.wasStopped)
      this.findings.violate(
        'kept',
        `${lock.name} is passed on ${least - after.now} ms before ${nameOf(record)} lets it`,
      );
    if (!found) return;
    this.findings.tally.kept += 1;
    const longest = after.now + keep + 2;
    if ((found.ends < least || found.ends > longest) && !wasSet)
      this.findings.violate(
        'kept',
        `${lock.name} is kept until ${found.ends}, not between ${least} and ${longest}`,
      );
    lock.kept.set(found.id, least);
  }

  /** What is kept is still there. */
  private checkKept(lock: LockState, { now, holdings }: LockData): void {
    for (const [id, until] of lock.kept) {
      const isThere = holdings.some((one) => one.id === id);
      if (isThere && until > now) continue;
      lock.kept.delete(id);
      if (isThere || until <= now || this.excuses.dataLost(lock.name, 0, this.world.now)) continue;
      if (this.excuses.clockSet(0, 'clock-back')) continue;
      this.findings.violate('kept', `${lock.name} is free ${until - now} ms too early`);
    }
  }

  /** No holder may believe in a hold that the server has ended; one may have its turn under that of its neighbour. */
  private checkBelieved(lock: LockState, after: LockData): void {
    const held = live(after, after.now).filter(({ isKept }) => !isKept);
    for (const record of lock.holds) {
      const { lease, client, sequence, planned } = record;
      if ((lease?.remaining() ?? 0) <= 0) continue;
      const isHeld = held.some(
        (one) => one.client === client.id && (!planned.share || one.id === `${client.id}:${sequence}`),
      );
      if (isHeld || this.excuses.mayBeUnknown(record, this.world.now)) continue;
      this.findings.violate(
        'self-fence',
        `${nameOf(record)} believes to hold ${lock.name}, the server does not`,
      );
      this.holdEnded(record);
    }
  }

  private checkExclusion(lock: LockState): void {
    const holding = [...lock.holds].filter(({ lease }) => (lease?.remaining() ?? 0) > 0);
    if (!conflict(holding.map(({ planned }) => planned))) return;
    const [older, newer] = holding.sort((one, other) => one.grantedAt! - other.grantedAt!);
    if (!older || !newer) return;
    const excuse =
      this.excuses.mayOverlap(older, this.world.now) ?? this.excuses.mayOverlap(newer, this.world.now);
    this.findings.judge(
      'overlap',
      excuse,
      () => `${nameOf(older)} and ${nameOf(newer)} both hold ${lock.name}`,
    );
    // Said once.
    this.holdEnded(older);
  }

  private clientOf(id: string): SimClient | undefined {
    return this.clients.find((client) => client.id === id);
  }

  private lock(name: string): LockState {
    let lock = this.locks.get(name);
    if (!lock) this.locks.set(name, (lock = newLock(name)));
    return lock;
  }
}

function hasFewerHolds(after: LockData, before: LockData | undefined): boolean {
  return before?.holdings.some(({ id }) => !after.holdings.some((hold) => hold.id === id)) ?? false;
}

/** No script may follow that would tell that nobody waits any more. */
function forgetNeed(lock: LockState): void {
  if (lock.waiting.size === 0) lock.neededSince = undefined;
}

/** The ids of all requests that a `done` names. */
function endedBy([id = '', , , , ...names]: readonly string[]): ReadonlySet<string> {
  return new Set([id, ...names.map((name) => name.split(':', 2).join(':'))]);
}

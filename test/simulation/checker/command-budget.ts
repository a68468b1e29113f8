import { createHash } from 'node:crypto';
import type { PlannedTimes } from '../scenario/option-values.js';
import type { Plan } from '../scenario/plan.js';
import type { SimClient } from '../scenario/sim-client.js';
import type { World } from '../world/world.js';
import type { Findings } from './findings.js';
import type { RequestRecord } from './history.js';

/** What happened to one client for one lock, counted: each is a reason to send something. */
interface Account {
  /** How many of its requests wait now, and how many hold the lock. */
  waiting: number;
  holding: number;
  requests: number;
  forced: number;
  /** Grants that the server made to it; grants to others while it waited; messages that told it of a grant. */
  grants: number;
  otherGrants: number;
  messages: number;
  /** Messages that told it that the lock is kept. */
  looks: number;
  /** The generation of its record, as it was seen last. */
  generation: string;
  /** Reasons for which requests that wait ask again, summed over those that waited: M5, M6 and M7. */
  reentries: number;
  /** Connections and subscriptions that came up or broke. */
  connections: number;
  /** For how long it had a request that waits or holds, ms, and since when it has one now. */
  used: number;
  usedSince: number | undefined;
  /** Commands that were answered in time, by what they are for. */
  readonly answered: Record<Purpose, number>;
  /** The others, by what they name: a request, a grant, or the lock. */
  readonly unanswered: Map<string, Unanswered>;
}

interface Unanswered {
  count: number;
  readonly since: number;
  readonly connections: number;
}

type Purpose = 'ask' | 'beat' | 'release' | 'leave' | 'end';

/** `releaseShared` ends holds, or takes a request out of the line, or both. */
const PURPOSES: Readonly<Record<string, Purpose>> = {
  acquireShared: 'ask',
  releaseShared: 'end',
  acquire: 'ask',
  join: 'ask',
  heartbeat: 'beat',
  release: 'release',
  leave: 'leave',
};

/** Pauses of lib/stores/redis-client/commands/retry.ts, and between two attempts to get a place back (line/replies.ts), ms. */
const FIRST_PAUSE = 10;
const LONGEST_PAUSE = 500;
const ROUND_PAUSE = 100;

/** Times (ms) that are shorter are over before a command has reached the server and its reply is back: all it can do is ask again. */
const SHORTEST_TIME = 20;

/**
 * From here only a part of what a client knows is seen, such as a reply that came late: a few commands more than what was seen calls
 * for are no fault. A loop that asks once a round trip is beyond any such margin at once.
 */
const most = (reasons: number): number => 2 * reasons + 10;

/**
 * Each command has a reason: a client sends no more of them for a lock than what happened to it there calls for. A command that was
 * answered is not repeated, and one that was not is repeated by back-off (R13).
 */
export class CommandBudget {
  private readonly accounts = new Map<SimClient, Map<string, Account>>();
  private readonly holds = new Set<RequestRecord>();
  private readonly purposes = new Map<string, Purpose | undefined>();

  constructor(
    private readonly world: World,
    private readonly plan: Plan,
    private readonly findings: Findings,
    private readonly scriptNames: ReadonlyMap<string, string>,
  ) {}

  // ---- reasons -------------------------------------------------------------------------------------------------------

  requested({ client, lock }: RequestRecord): void {
    const account = this.of(client, lock);
    account.requests += 1;
    this.use(account, 1, 0);
  }

  granted(record: RequestRecord): void {
    this.holds.add(record);
    this.use(this.of(record.client, record.lock), -1, 1);
  }

  rejected({ client, lock }: RequestRecord): void {
    this.use(this.of(client, lock), -1, 0);
  }

  holdEnded(record: RequestRecord): void {
    if (this.holds.delete(record)) this.use(this.of(record.client, record.lock), 0, -1);
  }

  forced(client: SimClient, lock: string): void {
    this.of(client, lock).forced += 1;
  }

  toldOfGrant(client: SimClient, lock: string): void {
    this.of(client, lock).messages += 1;
  }

  /** That the lock is kept is a reason to look. */
  toldOfKept(client: SimClient, lock: string): void {
    this.of(client, lock).looks += 1;
  }

  /** The server granted the lock: each member of a run may have to ask again when that ends (M7). */
  serverGranted(owner: SimClient | undefined, lock: string): void {
    for (const [client, locks] of this.accounts) {
      const account = locks.get(lock);
      if (client === owner || !account) continue;
      if (account.waiting > 0) account.otherGrants += 1;
    }
    if (!owner) return;
    const account = this.of(owner, lock);
    account.grants += 1;
    account.reentries += account.waiting;
  }

  /** What the server has as the generation of the client: under another one all that wait ask again (M5). */
  generation(client: SimClient, lock: string, generation: string): void {
    const account = this.of(client, lock);
    if (account.generation === generation) return;
    account.generation = generation;
    account.reentries += account.waiting;
  }

  /** A connection came up or broke: another server may answer (M6), messages may be missed (R9). */
  connectionChanged(client: SimClient, carriesCommands: boolean): void {
    for (const account of this.accounts.get(client)?.values() ?? []) {
      account.connections += 1;
      if (carriesCommands) account.reentries += account.waiting;
    }
  }

  // ---- commands ------------------------------------------------------------------------------------------------------

  /** A script is sent, with its keys and arguments. Returns what to call when it is answered. */
  sent(client: SimClient, [script = '', , lock = '', ...args]: readonly string[]): (() => void) | undefined {
    const purpose = this.purposeOf(script);
    if (!purpose) return undefined;
    const account = this.of(client, lock);
    const { now } = this.world;
    const key = `${purpose} ${this.nameIn(purpose, args)}`;
    let open = account.unanswered.get(key);
    if (!open) {
      const { connections } = account;
      account.unanswered.set(key, (open = { count: 0, since: now, connections }));
    }
    open.count += 1;
    const { commandTimeout } = this.timesOf(client);
    const mostOpen = most(this.mostUnanswered(account, open, commandTimeout));
    if (open.count > mostOpen) {
      this.violate(client, lock, `${open.count} times ${key} without an answer`, mostOpen);
      open.count = -Infinity;
    }
    return () => {
      if (this.world.now > now + commandTimeout) return;
      open.count -= 1;
      account.answered[purpose] += 1;
      const mostAnswered = most(this.mostAnswered(account, purpose, client, lock));
      if (account.answered[purpose] <= mostAnswered) return;
      this.violate(client, lock, `${account.answered[purpose]} commands to ${purpose}`, mostAnswered);
      account.answered[purpose] = -Infinity;
    };
  }

  /** What a command names: acquire and leave a request, release a grant; join the first of its requests, a heartbeat only the lock. */
  private nameIn(purpose: Purpose, args: readonly string[]): string {
    // After two more keys and the client, which every command names.
    const own = args.slice(3);
    if (purpose === 'ask') return own[1] ?? '';
    return purpose === 'beat' ? '' : (own[0] ?? '');
  }

  /**
   * Of what was answered: one command for each reason.
   *
   * ask: each request once, and again for each reason to doubt its place.
   * beat: one in each period, one after each change of a connection, and for each grant: its first report and renewal, or, of another
   * client, a look when its lease must have ended.
   * release: each grant once, and once more where it is told twice, by a reply and by a late message.
   * leave: each request once, once more after its last deadline, and after each command of it that took effect late.
   * end: what a release and a leave may have together.
   */
  private mostAnswered(account: Account, purpose: Purpose, client: SimClient, lock: string): number {
    const { requests, reentries, grants, otherGrants, messages, looks, connections, forced, answered } =
      account;
    switch (purpose) {
      case 'ask':
        return requests + reentries + this.sweeps(lock);
      case 'beat': {
        const { lease, window } = this.timesOf(client);
        const periods = this.usedUntilNow(account) / (Math.min(lease, window) / 3);
        return Math.ceil(periods) + connections + 2 * grants + otherGrants + looks + forced;
      }
      case 'release':
        return grants + messages;
      case 'leave':
        return 2 * requests + answered.ask + this.unanswered(account, 'ask');
      case 'end':
        return (
          this.mostAnswered(account, 'release', client, lock) +
          this.mostAnswered(account, 'leave', client, lock)
        );
    }
  }

  /** A try asks again until a line of dead requests is swept; with small limits, one command sweeps a few of them only. */
  private sweeps(lock: string): number {
    if (!this.plan.smallLimits) return 0;
    let places = 0;
    for (const locks of this.accounts.values()) {
      const { requests, reentries } = locks.get(lock) ?? { requests: 0, reentries: 0 };
      places += requests + reentries;
    }
    return places;
  }

  /** Of what was not: in each round the pauses double, and after a round there is another pause. A new connection is tried at once. */
  private mostUnanswered(
    { connections }: Account,
    { since, connections: before }: Unanswered,
    timeout: number,
  ): number {
    const doubled = Math.log2(1 + timeout / FIRST_PAUSE) + timeout / LONGEST_PAUSE;
    const perRound = 2 + Math.ceil(doubled);
    const rounds = 1 + (this.world.now - since) / (timeout + ROUND_PAUSE);
    return Math.ceil(perRound * rounds) + 2 * (connections - before);
  }

  private unanswered(account: Account, purpose: Purpose): number {
    let count = 0;
    for (const [key, open] of account.unanswered) if (key.startsWith(purpose)) count += open.count;
    return count;
  }

  private usedUntilNow({ used, usedSince }: Account): number {
    return used + (usedSince === undefined ? 0 : this.world.now - usedSince);
  }

  private use(account: Account, waiting: number, holding: number): void {
    account.waiting += waiting;
    account.holding += holding;
    const inUse = account.waiting + account.holding > 0;
    if (inUse) account.usedSince ??= this.world.now;
    else {
      account.used = this.usedUntilNow(account);
      account.usedSince = undefined;
    }
  }

  private violate(client: SimClient, lock: string, what: string, most: number): void {
    const { lease, window, commandTimeout } = this.timesOf(client);
    if (Math.min(lease, window, commandTimeout) < SHORTEST_TIME) return;
    this.findings.violate(
      'commands',
      `${client.process.name} sent ${what} of ${lock}, ${most} at most are called for`,
    );
  }

  private timesOf(client: SimClient): PlannedTimes {
    return client.planned.times ?? this.plan;
  }

  /** @param script its text or its digest */
  private purposeOf(script: string): Purpose | undefined {
    if (!this.purposes.has(script)) {
      const digest = script.length === 40 ? script : createHash('sha1').update(script).digest('hex');
      this.purposes.set(script, PURPOSES[this.scriptNames.get(digest) ?? '']);
    }
    return this.purposes.get(script);
  }

  private of(client: SimClient, lock: string): Account {
    let locks = this.accounts.get(client);
    if (!locks) this.accounts.set(client, (locks = new Map<string, Account>()));
    let account = locks.get(lock);
    if (!account) locks.set(lock, (account = newAccount()));
    return account;
  }
}

function newAccount(): Account {
  return {
    waiting: 0,
    holding: 0,
    requests: 0,
    forced: 0,
    grants: 0,
    otherGrants: 0,
    messages: 0,
    looks: 0,
    generation: '',
    reentries: 0,
    // Those that are being made when the first request comes.
    connections: 2,
    used: 0,
    usedSince: undefined,
    answered: { ask: 0, beat: 0, release: 0, leave: 0, end: 0 },
    unanswered: new Map(),
  };
}

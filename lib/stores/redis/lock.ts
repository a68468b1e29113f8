import { abortError, type LockTimeoutError } from '../../core/errors/errors.js';
import { elapsedSince, Lease, now as instant, type Instant } from '../../core/port/lease.js';
import type { Grant } from '../../core/port/lock-store.js';
import type { Wait } from '../../core/port/wait.js';
import type { TimedTask, TimerEntry, Timers } from '../../core/runtime/timers.js';
import { MOST_MISSED } from '../redis-client/refusals.js';
import { toCommandFailure, type CommandFailure } from '../redis-client/server/server-failure.js';
import type { Beat, Commands, Ending, RedisKeys, Times, Usual } from './commands.js';
import { refusal, type Why } from './refusals.js';
import { readBlocker, type Granted, type Reply } from './reply.js';
import { RedisHold, Request, Turn, type RequestOwner, type Told, type TurnOwner } from './request.js';

/** What the locks of one client need of it. */
export interface LockClient {
  readonly id: string;
  readonly commands: Commands;
  readonly times: Times;
  readonly timers: Timers;
  /** Whether replicas must confirm a grant. */
  readonly isReplicated: boolean;
  /** Calls `sendAsks` when this turn of the event loop has ended, and messages can come. */
  ask(lock: Lock): void;
  /** Calls `sendAsks` now, if messages can come. */
  askNow(lock: Lock): void;
  /** Sends the next heartbeat of the lock. */
  beat(lock: Lock): void;
  /**
   * Sends a heartbeat that fixes the lease of a hold; repeated for one command timeout.
   *
   * @throws the error that a caller sees
   */
  fix(key: string, beat: Beat): Promise<Reply>;
  /** A message did not come that should have. */
  missedMessage(): void;
}

/** What a heartbeat named, and who had the turn of each hold then. */
interface Named {
  readonly held: readonly RedisHold[];
  readonly waiting: readonly Request[];
}

/** The most that one acquire asks for. */
const MOST_TOGETHER = 64;
/** How many of those that wait, and how many holds, one heartbeat names, in turn. */
const MOST_NAMED = 100;
const MOST_HELD = 500;
/** A section that lasts for longer than this (ms) after a handoff is told to Redis; shorter ones cost no heartbeat (rules 4 and 9). */
const FIRST_RENEWAL = 100;
/** For so long neighbours have their turns under one hold, ms (rule 9). */
const ROW_TIME = 100;
/** Before a request asks again whose grant the replicas' server does not know, ms. */
const PAUSE = 100;
/** The error of a request that timed out names what blocked it if Redis tells so within this time, ms. */
const BLOCKER_TIME = 100;

const BY_FORCE = 'it was released by force';
const GONE = 'Redis no longer has its grant: the lease expired, it was released by force, or data was lost';
const GRANTED_ANEW = 'Redis has ended the hold under which it had its turn';

/**
 * One lock as this client sees it: its requests, what Redis holds for them, and the last answers. It does no I/O itself.
 *
 * The machine of docs/internals/protocol.md: what an event does to a request in each state. `move` is the one place where a request changes its
 * state, `nextDue` says when it must act next.
 */
export class Lock implements RequestOwner, TurnOwner, TimedTask {
  timerEntry: TimerEntry | undefined;
  /** All that are not over, by sequence; if heartbeats name them in turn, those of which Redis told last stand behind. */
  readonly requests = new Map<number, Request>();
  private readonly holds = new Set<RedisHold>();
  /** How many are `waiting`. */
  private waiting = 0;
  /** Those whose acquire must be sent. */
  private readonly asking = new Set<Request>();
  /** Whether the client will call `sendAsks`. */
  private isAsking = false;
  /** No acquire that must wait is due before this time, no heartbeat for a hold, and no lease ends (monotonic). */
  private askAt = Infinity;
  private renewAt = Infinity;
  private endsAt = Infinity;
  /** When to call because requests wait; or although none does, for those of other clients. */
  private callAt = Infinity;
  private isUrgent = false;
  /** When a message has told to call because a time for which the lock is kept ends then (monotonic). */
  private keptUntil = -Infinity;
  /** How many of those that wait should be named without delay, because Redis may have lost them. */
  private unchecked = 0;
  /** When a message last said that something changed in Redis; answers to earlier commands may not show it. */
  private newsAt = -Infinity;
  /** What the heartbeat under way names. */
  private named: Named | undefined;
  /** How many commands are not answered. */
  private underWay = 0;
  private onQuiet: (() => void) | undefined;

  constructor(
    readonly client: LockClient,
    readonly keys: RedisKeys,
    /** Called when nothing of the lock is left here, and nothing of it is under way. */
    private readonly forget: () => void,
  ) {}

  // ---- requests ask ------------------------------------------------------------------------------------------------

  /** A new request. */
  ask(wait: Wait, sequence: number, about: string): Promise<Grant> {
    if (wait.aborted) return Promise.reject(abortError(wait.key, wait.reason));
    const request = new Request(wait, this, sequence, this.idOf(sequence), about);
    this.requests.set(sequence, request);
    wait.enter(request, this.client.timers);
    this.asking.add(request);
    this.askSoon();
    return wait.promise;
  }

  /** The request has no place, or no longer: it asks, with its ticket (rule 2), after `pause` ms. */
  private askAgain(request: Request, pause = 0): void {
    const at = pause > 0 ? performance.now() + pause : 0;
    this.move(request, { is: 'asking', at });
    this.asking.add(request);
    if (pause > 0) this.askAt = Math.min(this.askAt, at);
    else this.askSoon();
  }

  private askSoon(): void {
    if (this.isAsking) return;
    this.isAsking = true;
    this.client.ask(this);
  }

  /** Sends the requests that are due: plain ones together, others alone. */
  sendAsks(at: Instant): void {
    this.isAsking = false;
    this.askAt = Infinity;
    let group: Request[] = [];
    for (const request of this.asking) {
      const { state } = request;
      if (state.is === 'asking' && state.at > at.monotonic) {
        this.askAt = Math.min(this.askAt, state.at);
        continue;
      }
      this.asking.delete(request);
      if (state.is !== 'asking') continue;
      const joins = request.isPlain && request.most === Infinity;
      if (group.length > 0 && (!joins || group.length === MOST_TOGETHER)) {
        this.acquire(group, at);
        group = [];
      }
      group.push(request);
      if (joins) continue;
      this.acquire(group, at);
      group = [];
    }
    if (group.length > 0) this.acquire(group, at);
    this.plan();
  }

  private acquire(group: readonly Request[], askedAt: Instant): void {
    for (const request of group) {
      request.askedAt ??= askedAt;
      this.move(request, { is: 'asking', at: Infinity });
    }
    this.underWay += 1;
    this.client.commands.acquire(this.keys, group, this).then(
      () => this.ended(),
      (error: unknown) => {
        this.failed(group, toCommandFailure(error));
        this.ended();
      },
    );
  }

  /** The reply to an acquire; or the token, if the lock was free and is granted with the whole lease. */
  answered(reply: Reply | Usual, group: readonly Request[]): void {
    if ('usual' in reply) {
      const [request] = group as readonly [Request];
      this.giveOne(request, reply.usual, { since: reply.sentAt, left: this.client.times.lease });
      return this.unlessOver(request);
    }
    // Those that have waited before must be asked about as soon as without the new ones: their messages may be lost.
    const isFirst = this.waiting === 0 && reply.answers.some(([what]) => what === 'line');
    this.note(reply, isFirst);
    for (const [i, request] of group.entries()) this.answeredOne(request, reply, reply.answers[i] ?? []);
  }

  private answeredOne(request: Request, reply: Reply, answer: readonly string[]): void {
    const [what, first, second] = answer;
    // What became of it since the command was sent counts more (rule 6). One that has ended has sent its `done`.
    if (request.state.is !== 'asking') return;
    switch (what) {
      case 'line':
        request.ticket = first!;
        this.told(request, reply);
        this.move(request, { is: 'waiting' });
        return this.reportPlace(request, Number(second));
      case 'held':
        if (request.isTold(Number(second), reply.sentAt)) return this.askAgain(request);
        return this.take(request, Number(second), { since: reply.sentAt, left: Number(first) });
      case 'granted':
        return this.unlessOver(request);
      case 'busy':
        return this.reject(request, 'timed out', readBlocker([], answer.slice(1)));
      case 'full':
        return this.reject(request, 'full');
    }
  }

  /** A grant that was ended by force before it came was not entered: the request asks again. */
  private unlessOver(request: Request): void {
    if (request.state.is === 'asking') this.askAgain(request);
  }

  /** Another server may carry out a copy of their acquire later (rule 5). */
  uncertain(asks: readonly Request[]): void {
    for (const request of asks) request.isDoubtful = true;
  }

  /** A request that has a place survives an outage until its wait time ends; a new one is rejected. */
  private failed(group: readonly Request[], failure: CommandFailure): void {
    for (const request of group) {
      if (request.state.is !== 'asking') continue;
      if (request.ticket !== '' && failure.retriable) {
        this.askAgain(request, Math.max(1, Math.min(failure.retryAfter, 1_000)));
        continue;
      }
      this.reject(request, failure.error);
      this.giveUp(request);
    }
  }

  private reportPlace(request: Request, ahead: number): void {
    if (request.isPlaced) return;
    request.isPlaced = true;
    try {
      request.wait.queued(ahead, request.id);
    } catch (error) {
      // A callback of the caller must not throw into the client: its request is rejected.
      this.refuse(request, error as Error);
    }
  }

  // ---- grants ------------------------------------------------------------------------------------------------------

  /** A message told of a grant to this client. */
  granted(granted: Granted, at: Instant): void {
    const head = this.requests.get(granted.sequences[0]!);
    const since = head?.toldAt ?? head?.askedAt ?? at;
    const isDoubtful = granted.sequences.some((sequence) => this.requests.get(sequence)?.isDoubtful);
    // If most of the lease may have passed, or another server than the present primary may tell this, a heartbeat asks.
    if (isDoubtful || elapsedSince(since, at) >= (head?.leaseTime ?? granted.left) / 2) return this.look();
    this.give(granted, { since, left: granted.left, isMessage: true });
    this.plan();
  }

  /** Redis has granted requests of this client; a grant to one that has ended is given back. */
  private give({ token, sequences }: Granted, told: Told): void {
    const [head, ...others] = sequences.map((sequence) => this.requests.get(sequence));
    const isShared = [head, ...others].some((request) => request && !request.isPlain);
    if (head) this.giveOne(head, token, told, isShared ? [] : others);
    else this.giveBack(sequences[0]!);
    if (!isShared) return;
    for (const [i, request] of others.entries()) {
      if (request) this.giveOne(request, token, told);
      else this.giveBack(sequences[i + 1]!);
    }
  }

  /** @param neighbours those that may have their turns after it */
  private giveOne(
    request: Request,
    token: number,
    told: Told,
    neighbours: readonly (Request | undefined)[] = [],
  ): void {
    const { state } = request;
    switch (state.is) {
      case 'asking':
      case 'waiting':
        if (request.isTold(token, told.since)) return;
        return this.take(request, token, { ...told, left: request.leaseTime ?? told.left }, neighbours);
      case 'held':
        // It gives this hold back when its section has ended. Several shared holds are told with the token of the last.
        if (!request.wait.share && token > state.turn.number) state.turn.lease.lose(GRANTED_ANEW);
        return;
      case 'lost':
        if (token > state.turn.number) this.giveBack(request.sequence);
        return;
      case 'over':
        return this.giveBack(request.sequence);
    }
  }

  /** Redis granted a request that has ended here. Its own `done` may be under way. */
  private giveBack(sequence: number): void {
    // Its neighbour may have its turn under that hold.
    for (const { head } of this.holds) if (head.sequence === sequence) return;
    void this.done({ id: this.idOf(sequence) });
  }

  /** Redis holds the lock for the request. */
  private take(
    request: Request,
    token: number,
    told: Told,
    neighbours: readonly (Request | undefined)[] = [],
  ): void {
    const at = instant();
    this.enter(new RedisHold(request, token, told, neighbours, at.monotonic), at);
  }

  /** The head of a hold has its turn, unless its lease has expired or the replicas must confirm it. */
  private enter(hold: RedisHold, at = instant()): void {
    const { head, told } = hold;
    const { lease } = this.client.times;
    const remaining = hold.validity(lease) - elapsedSince(told.since, at);
    if (remaining <= 0) return this.missed(hold);
    const now = at.monotonic;
    this.holds.add(hold);
    if (this.client.isReplicated && !hold.isConfirmed) {
      this.move(head, { is: 'confirming', hold });
      this.renewAt = hold.renewAt = now;
      return;
    }
    if (!hold.isConfirmed) {
      // The end of a fixed lease is known, unless it came by a message.
      if (told.isMessage || hold.hasNeighbours)
        hold.renewAt = now + Math.min(FIRST_RENEWAL + ROW_TIME, remaining / 3);
      else if (head.leaseTime === undefined)
        hold.renewAt = told.since.monotonic + Math.min(lease, told.left) / 3;
      this.renewAt = Math.min(this.renewAt, hold.renewAt);
    }
    this.begin(hold, head, hold.token, now, remaining);
  }

  /** A neighbour has its turn under the hold; false if none waits, or the lease has expired (rule 9). */
  private handOn(hold: RedisHold): boolean {
    const at = instant();
    const next = hold.isStopped ? undefined : hold.nextNeighbour(at.monotonic - ROW_TIME);
    if (!next) return false;
    const remaining = hold.validity(this.client.times.lease) - elapsedSince(hold.told.since, at);
    if (remaining <= 0) return false;
    this.begin(hold, next.request, next.token, at.monotonic, remaining);
    return true;
  }

  private begin(hold: RedisHold, request: Request, token: number, now: number, remaining: number): void {
    const lease = new Lease(request.key, hold.told.since, hold.validity(this.client.times.lease));
    const turn = new Turn(request, hold, token, lease, this, now);
    lease.onLost(() => this.ranOut(turn));
    lease.onRenewingStopped(() => void (hold.isStopped = true));
    hold.turn = turn;
    this.move(request, { is: 'held', turn });
    this.endsAt = Math.min(this.endsAt, now + remaining);
    request.wait.serve(turn);
  }

  /** The grant of a request had expired before it could have its turn. One whose lease is always too short is rejected. */
  private missed(hold: RedisHold): void {
    const { head, token, told, id } = hold;
    this.holds.delete(hold);
    if (head.lastMissed !== token) head.missed += 1;
    head.lastMissed = token;
    if (head.leaseTime === undefined || head.missed < MOST_MISSED) {
      // Redis may keep that grant for so long.
      return this.askAgain(head, Math.max(1, told.left - elapsedSince(told.since)));
    }
    void this.done({ id }, head.leaseTime);
    this.reject(head, 'lease too short');
  }

  // ---- the end of a hold -------------------------------------------------------------------------------------------

  /** The section of a turn has ended. A lost grant is not kept. */
  release(turn: Turn, keep: number | undefined): Promise<void> {
    const { request, hold } = turn;
    const isKept = turn.lease.end();
    const isHead = request === hold.head;
    this.move(request, { is: 'over' });
    if (!isHead) hold.served.push(request);
    if (isKept && keep === undefined && this.handOn(hold)) {
      this.plan();
      return Promise.resolve();
    }
    // Those that have asked meanwhile join the queue first, as neighbours of each other and of those that wait. One alone may find the lock free.
    if (this.isAsking && this.waiting + this.asking.size > 1) this.client.askNow(this);
    this.holds.delete(hold);
    const ending = { id: hold.head.id, served: hold.served.map(({ name }) => name) };
    // Redis counts from the grant, the holder from its turn.
    const kept =
      isKept && keep !== undefined
        ? ({ how: 'keep', value: Math.ceil(keep + hold.waitedForTurn) } as const)
        : undefined;
    // Before `plan`, which forgets a lock that has nothing under way.
    const released = this.done({ ...ending, ...kept }, hold.leaseTime);
    this.plan();
    return released;
  }

  /** The lease has expired, as this client sees it, or Redis has ended it. The section has the margin to stop. */
  private ranOut(turn: Turn): void {
    this.move(turn.request, { is: 'lost', turn });
    this.holds.delete(turn.hold);
    this.plan();
  }

  /** Redis has ended the hold. */
  private lose(hold: RedisHold, why: string): void {
    if (hold.turn) return hold.turn.lease.lose(why);
    // In a failover the two connections may lead to two servers for a while.
    this.holds.delete(hold);
    this.askAgain(hold.head, PAUSE);
  }

  /** A message told that a hold was ended by force. */
  lostByForce(sequence: number, token: number): void {
    // Its grant may still be under way.
    const request = this.requests.get(sequence);
    if (request) {
      request.told = Math.max(request.told, token);
      request.toldAt = instant();
    }
    for (const hold of this.holds) {
      if (hold.head.sequence === sequence && hold.token <= token) this.lose(hold, BY_FORCE);
    }
    this.look();
  }

  /** Ends the leases that have run out by the clocks of this host. */
  private expire(now: number): void {
    if (this.endsAt > now) return;
    this.endsAt = Infinity;
    for (const { turn } of this.holds) {
      const left = turn?.lease.state === 'lost' ? 0 : (turn?.lease.remaining() ?? 0);
      if (left > 0) this.endsAt = Math.min(this.endsAt, performance.now() + left);
    }
  }

  // ---- requests give up --------------------------------------------------------------------------------------------

  overdue(request: Request): void {
    if (request.state.is === 'waiting') return this.leaveQueue(request);
    // Redis did not tell in time what blocked it.
    if (request.state.is === 'over') return request.wait.refuse(refusal(request, 'timed out'));
    this.refuse(request, 'timed out');
  }

  aborted(request: Request): void {
    this.refuse(request, 'aborted');
  }

  /** A request ends without the lock, and Redis is told. Has no effect on one that is held, or over. */
  refuse(request: Request, why: Why | Error): void {
    const { state } = request;
    switch (state.is) {
      case 'asking':
      case 'waiting':
        this.reject(request, why);
        if (request.askedAt) this.giveUp(request);
        break;
      case 'confirming':
        this.reject(request, why);
        this.holds.delete(state.hold);
        void this.done({ id: request.id }, request.leaseTime);
    }
    this.plan();
  }

  /** A request in the queue gives up: its error names what blocked it, if Redis tells so in time. */
  private leaveQueue(request: Request): void {
    const { wait } = request;
    this.move(request, { is: 'over' });
    this.client.timers.schedule(wait, performance.now() + BLOCKER_TIME);
    this.giveUp(request, ({ answers: [place = [], blocker = []] }) => {
      if (wait.inLine) wait.refuse(refusal(request, 'timed out', readBlocker(place, blocker)));
    });
  }

  private giveUp(request: Request, answered?: (reply: Reply) => void): void {
    const { id, about, leaseTime } = request;
    void this.done({ id, about, ...(answered && { how: 'why' }) }, leaseTime, answered);
  }

  private reject(request: Request, why: Why | Error, blocker?: LockTimeoutError['blockedBy']): void {
    this.move(request, { is: 'over' });
    request.wait.refuse(why instanceof Error ? why : refusal(request, why, blocker));
  }

  /** Refuses all requests, gives back what is held, and resolves when Redis has answered. */
  async close(): Promise<void> {
    const all = [...this.requests.values()];
    for (const request of all) this.refuse(request, 'closing');
    for (const { state } of all) if ('turn' in state) void state.turn.release();
    if (this.underWay > 0) await new Promise<void>((resolve) => (this.onQuiet = resolve));
  }

  /**
   * Requests have ended: Redis passes their lock or place on. Resolves when that is answered, or was not for one command timeout; it is
   * repeated until then, or until the lease has expired.
   *
   * @param leaseTime the fixed lease of the request, ms
   */
  private done(ending: Ending, leaseTime = 0, answered?: (reply: Reply) => void): Promise<void> {
    this.underWay += 1;
    const lease = Math.max(leaseTime, this.client.times.lease);
    return this.client.commands.done(this.keys, ending, lease, (reply) => {
      if (reply && !('usual' in reply)) {
        this.note(reply, false);
        answered?.(reply);
      }
      this.ended();
    });
  }

  // ---- heartbeats --------------------------------------------------------------------------------------------------

  /** Asks Redis without delay what it knows. */
  look(): void {
    this.unchecked = this.waiting;
    this.newsAt = performance.now();
    this.callAt = -Infinity;
    if (this.holds.size > 0) this.renewAt = -Infinity;
    this.plan();
  }

  /** A message told that the lock may be free for the first of the queue, a request of this client, in `left` ms. */
  callIn(left: number): void {
    this.keptUntil = performance.now() + left;
    this.callAt = Math.min(this.callAt, this.keptUntil);
    this.plan();
  }

  /** The words of the next heartbeat; undefined: there is nothing to say. Else `beaten` and `renewed`, or `beatFailed`, must follow. */
  nextBeat(): Beat | undefined {
    if (this.named) return undefined;
    this.renewAt = Infinity;
    const held = this.nextHolds();
    const waiting: Request[] = [];
    for (const request of this.requests.values()) {
      if (waiting.length === MOST_NAMED || waiting.length === this.waiting) break;
      if (request.state.is === 'waiting') waiting.push(request);
    }
    if (held.length + waiting.length === 0 && !this.isUrgent) return undefined;
    this.isUrgent = false;
    this.named = { held, waiting };
    this.underWay += 1;
    for (const hold of held) this.closeRow(hold);
    return {
      keys: this.keys,
      held: held.map((hold) => hold.words()),
      waiting: waiting.map(({ name }) => name),
    };
  }

  /** Those that the next heartbeat names, the first to be renewed first. */
  private nextHolds(): RedisHold[] {
    const all = [...this.holds].filter(({ renewAt }) => renewAt < Infinity);
    if (all.length <= MOST_HELD) return all;
    return all.sort((one, other) => one.renewAt - other.renewAt).slice(0, MOST_HELD);
  }

  /** Redis learns who has its turn, the last under this hold; those that had theirs before leave the queue. */
  private closeRow(hold: RedisHold): void {
    const [first, ...others] = hold.closeRow();
    if (first) void this.done({ id: first.id, about: first.about, served: others.map(({ name }) => name) });
  }

  /** Those that the heartbeat under way named and that the replicas have not confirmed yet. */
  get unconfirmed(): readonly Request[] {
    const heads = (this.named?.held ?? []).map(({ head }) => head);
    return heads.filter(({ state }) => state.is === 'confirming');
  }

  /** The heartbeat was answered: what it says of those that wait, and of holds that Redis does not know (rule 6). */
  beaten(reply: Reply): void {
    const { held = [], waiting = [] } = this.named ?? {};
    this.unchecked = Math.max(0, this.unchecked - waiting.length);
    this.note(reply, true);
    for (const [i, request] of waiting.entries()) {
      this.stillWaits(request, reply, reply.answers[held.length + i] ?? []);
    }
    for (const [i, hold] of held.entries()) {
      if (this.holds.has(hold) && reply.answers[i]?.[0] === 'none') this.lose(hold, GONE);
    }
    this.plan();
  }

  /** Its answer counts, also for the replicas: the leases are renewed. */
  renewed({ sentAt, answers }: Reply): void {
    const { held = [] } = this.named ?? {};
    this.named = undefined;
    for (const [i, hold] of held.entries()) {
      const [what, left] = answers[i] ?? [];
      if (what === 'held' && this.holds.has(hold)) this.renew(hold, { since: sentAt, left: Number(left) });
    }
    this.renewAt = this.firstRenewal();
    this.ended();
  }

  private renew(hold: RedisHold, told: Told): void {
    const { lease } = this.client.times;
    hold.told = told;
    hold.isConfirmed = true;
    hold.renewAt = hold.leaseTime === undefined ? told.since.monotonic + lease / 3 : Infinity;
    if (!hold.turn) return this.enter(hold);
    hold.turn.lease.renew(told.since, hold.validity(lease));
  }

  /** The hold of a turn, which has no neighbours, gets a fixed lease from now on. See `Grant.fix`. */
  async fix({ request, hold, lease }: Turn, leaseTime: number): Promise<void> {
    this.underWay += 1;
    try {
      const held = [{ id: hold.id, lease: `=${leaseTime}`, present: '' }];
      const reply = await this.client.fix(request.key, { keys: this.keys, held, waiting: [] });
      this.note(reply, false);
      if (!this.holds.has(hold)) return;
      if (reply.answers[0]?.[0] !== 'held') return this.lose(hold, GONE);
      hold.leaseTime = leaseTime;
      hold.told = { since: reply.sentAt, left: leaseTime };
      hold.renewAt = Infinity;
      lease.fix(reply.sentAt, hold.validity(this.client.times.lease));
      this.endsAt = -Infinity;
    } finally {
      this.ended();
    }
  }

  /** The leases are uncertain, and the next heartbeat follows soon. */
  beatFailed({ retryAfter }: Pick<CommandFailure, 'retryAfter'>): void {
    for (const hold of this.named?.held ?? []) if (this.holds.has(hold)) hold.turn?.lease.suspect();
    for (const request of this.requests.values()) request.isDoubtful = true;
    this.named = undefined;
    const { window, lease } = this.client.times;
    const soon = performance.now() + Math.min(retryAfter, window / 3, lease / 6);
    this.callAt = soon;
    if (this.holds.size > 0) this.renewAt = soon;
    this.ended();
  }

  private stillWaits(request: Request, reply: Reply, [what, left, token]: readonly string[]): void {
    if (request.state.is !== 'waiting') return;
    if (what === 'line') return this.told(request, reply);
    // It was put into the queue again since this command was sent.
    if (request.toldAt && request.toldAt.monotonic > reply.sentAt.monotonic) return;
    if (what === 'held') {
      this.client.missedMessage();
      return this.take(request, Number(token), { since: reply.sentAt, left: Number(left) });
    }
    this.told(request, reply);
    this.askAgain(request);
  }

  // ---- what all events share ---------------------------------------------------------------------------------------

  /** The one place where a request changes its state. */
  private move(request: Request, to: Request['state']): void {
    if (request.state.is === 'waiting') this.waiting -= 1;
    request.move(to);
    if (to.is === 'waiting') this.waiting += 1;
    else if (to.is === 'over') this.requests.delete(request.sequence);
  }

  /** Redis told that the request does not hold the lock. */
  private told(request: Request, { token, sentAt }: Reply): void {
    request.told = token;
    request.toldAt = sentAt;
    if (this.waiting <= MOST_NAMED) return;
    this.requests.delete(request.sequence);
    this.requests.set(request.sequence, request);
  }

  /** Takes note of an answer, and of what its script granted. `marked`: it has told of all that wait, and marked this client alive. */
  private note(reply: Reply, marked: boolean): void {
    const { sentAt, granted, again = Infinity, isUrgent } = reply;
    const soon = sentAt.monotonic + Math.min(again, this.client.times.window / 3);
    // The message may be younger than this answer.
    const at = sentAt.monotonic < this.keptUntil ? Math.min(soon, this.keptUntil) : soon;
    this.callAt = marked ? at : Math.min(this.callAt, at);
    if (this.unchecked > 0 || sentAt.monotonic < this.newsAt) this.callAt = -Infinity;
    // The queue was not looked at to its end (rule 10), or its head may be gone in a moment (rule 7).
    this.isUrgent = isUrgent;
    if (granted) this.give(granted, { since: sentAt, left: granted.left });
  }

  /** A command was answered, or has failed for good. */
  private ended(): void {
    this.underWay -= 1;
    this.plan();
  }

  onDue(): void {
    const now = performance.now();
    this.expire(now);
    if (this.askAt <= now) {
      this.askAt = Infinity;
      this.askSoon();
    }
    // It may have been due for a hold that has ended.
    if (this.renewAt > -Infinity) this.renewAt = this.firstRenewal();
    if (this.beatAt <= now) this.client.beat(this);
    this.plan();
  }

  private firstRenewal(): number {
    let first = Infinity;
    for (const { renewAt } of this.holds) first = Math.min(first, renewAt);
    return first;
  }

  /** When the next heartbeat is due (monotonic). */
  get beatAt(): number {
    if (this.named) return Infinity;
    return Math.min(this.renewAt, this.waiting > 0 || this.isUrgent ? this.callAt : Infinity);
  }

  /** When the lock must act next (monotonic). */
  private nextDue(): number {
    return Math.min(this.askAt, this.endsAt, this.beatAt);
  }

  /** Sets the timer for what is due next. Called after each event. */
  private plan(): void {
    // Else the timers would keep the lock until its last lease would have ended.
    if (this.holds.size === 0) this.endsAt = this.renewAt = Infinity;
    const due = this.nextDue();
    const { timers } = this.client;
    if (due < Infinity) timers.schedule(this, due);
    else timers.cancel(this);
    if (this.underWay > 0) return;
    this.onQuiet?.();
    if (this.requests.size === 0 && !this.isUrgent) this.forget();
  }

  private idOf(sequence: number): string {
    return `${this.client.id}:${sequence}`;
  }
}

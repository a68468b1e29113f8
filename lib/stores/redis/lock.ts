import {
  abortError,
  LockQueueFullError,
  LockShuttingDownError,
  LockTimeoutError,
} from '../../core/errors/errors.js';
import { BY_FORCE, elapsedSince, Lease, now as instant, type Instant } from '../../core/port/lease.js';
import type { Grant } from '../../core/port/lock-store.js';
import type { Wait } from '../../core/port/wait.js';
import type { TimedTask, TimerEntry, Timers } from '../../core/runtime/timers.js';
import { leaseTooShort, MOST_MISSED } from '../redis-client/refusals.js';
import { toCommandFailure, type CommandFailure } from '../redis-client/server/server-failure.js';
import {
  heartbeatPeriod,
  renewalPeriod,
  type Beat,
  type Commands,
  type Ending,
  type RedisKeys,
  type Times,
  type Usual,
} from './commands.js';
import { readBlocker, type Ended, type Granted, type Reply } from './reply.js';
import { RedisHold, Request, Turn, type RequestOwner, type Proof, type TurnOwner } from './request.js';
import { FIRST_BEAT, type Row } from './row.js';

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
  /** The error of a wait that has ended because Redis does not answer; undefined: because the lock was busy. */
  silenceOf(wait: Wait, isPlaced: boolean): Error | undefined;
}

/** What a heartbeat named. */
interface Named {
  readonly held: readonly RedisHold[];
  readonly waiting: readonly Request[];
}

/** A request that leaves the lock. */
interface Leaving {
  readonly request: Request;
  /** '' if it holds the lock. */
  readonly about: string;
  /** Of its hold, if it is fixed, ms. */
  readonly leaseTime: number | undefined;
  /** It wants to know its place, and what blocks the lock. */
  readonly answered?: ((place: readonly string[], blocker: readonly string[]) => void) | undefined;
  readonly resolve: () => void;
}

/** The most that one acquire asks for, and one `done` ends. */
const MOST_TOGETHER = 64;
/** How many of those that wait, and how many holds, one heartbeat names, in turn. */
const MOST_NAMED = 100;
const MOST_HELD = 500;
/** Before a request asks again whose grant the replicas' server does not know, ms. */
const PAUSE = 100;
/** The error of a request that timed out names what blocked it if Redis tells so within this time, ms. */
const BLOCKER_TIME = 100;

const BY_CLOCK = 'its lease has expired by the Redis clock';
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
  /** All that are not over, by sequence. Written by `ask` and `move`. */
  readonly requests = new Map<number, Request>();
  /** Those that are `ready` or `pausing`, and those that are `waiting`, those of whom Redis spoke last at the end. Written by `ask`, `move` and `stillQueued`. */
  private readonly toAsk = new Set<Request>();
  private readonly waiting = new Set<Request>();
  /** What Redis holds for this client, by the sequence of the head. Written by `enter`, and where a hold ends. */
  private readonly holds = new Map<number, RedisHold>();
  /** Whether the client will call `sendAsks`. Written by `askSoon`; `sendAsks` ends it. */
  private willAsk = false;
  /** When to call for those that wait (monotonic). Written by each reply and `callIn`. */
  private callAt = 0;
  /** Whether to call then also if none waits here, for those of other clients. Written by each reply; the heartbeat ends it. */
  private isUrgent = false;
  /** When a message said that the lock is kept until then (monotonic): its head calls at that time. Written by `callIn`. */
  private keptUntil = 0;
  /** When something may have changed last in Redis (monotonic): the answers to commands sent before may not show it. Written by `look`. */
  private newsAt = 0;
  /** After a heartbeat that failed, the next is not sent before this time (monotonic). Written by `beatFailed`; `look` ends it. */
  private restsUntil = 0;
  /** The token of the last message that made this client ask (rule 5). Written by `granted`. */
  private doubted = 0;
  /** What the heartbeat under way names. Written by `nextBeat`; `renewed` and `beatFailed` end it. */
  private named: Named | undefined;
  /** Those that leave in this turn of the event loop. Written by `leave`; `sendLeaving` ends it. */
  private leaving: Leaving[] = [];
  /** How many commands are not answered. Written where one is sent, and by `answer`. */
  private underWay = 0;
  /** Written by `close`, which waits for the last answer. */
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
    this.toAsk.add(request);
    this.askSoon();
    return wait.promise;
  }

  /** The request has no place, or no longer: it asks, with its ticket (rule 2), after `pause` ms. */
  private askAgain(request: Request, pause = 0): void {
    if (pause > 0) {
      const until = performance.now() + pause;
      this.move(request, { is: 'pausing', until });
      return this.wake(until);
    }
    this.move(request, { is: 'ready' });
    this.askSoon();
  }

  private askSoon(): void {
    if (this.willAsk) return;
    this.willAsk = true;
    this.client.ask(this);
  }

  /** Sends the requests that are due, several by one command. */
  sendAsks(at: Instant): void {
    this.willAsk = false;
    const due = [...this.toAsk].filter((request) => isDue(request, at.monotonic));
    for (let i = 0; i < due.length; i += MOST_TOGETHER) this.acquire(due.slice(i, i + MOST_TOGETHER), at);
    this.settle();
  }

  private acquire(group: readonly Request[], askedAt: Instant): void {
    for (const request of group) {
      request.askedAt ??= askedAt;
      this.move(request, { is: 'asked' });
    }
    this.underWay += 1;
    this.client.commands.acquire(this.keys, group, this).then(
      () => this.answer(),
      (error: unknown) => {
        this.failed(group, toCommandFailure(error));
        this.answer();
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
    const isFirst = this.waiting.size === 0 && reply.answers.some(([what]) => what === 'line');
    this.note(reply, isFirst);
    for (const [i, request] of group.entries()) this.answeredOne(request, reply, reply.answers[i] ?? []);
    this.wake(this.callDue());
  }

  private answeredOne(request: Request, reply: Reply, answer: readonly string[]): void {
    const [what, first, second] = answer;
    // What became of it since the command was sent counts more (rule 6). One that has ended has sent its `done`.
    if (!request.isAsking) return;
    switch (what) {
      case 'line':
        request.ticket = first!;
        this.move(request, { is: 'waiting' });
        this.stillQueued(request, reply);
        return this.reportPlace(request, Number(second));
      case 'held':
        if (request.isStale(Number(second), reply.sentAt)) return this.askAgain(request);
        return this.take(request, Number(second), { since: reply.sentAt, left: Number(first) });
      case 'granted':
        return this.unlessOver(request);
      case 'busy':
        return this.reject(request, timeoutError(request, readBlocker([], answer.slice(1))));
      case 'full':
        return this.reject(request, new LockQueueFullError(request.key, request.wait.maxQueue));
    }
  }

  /** A grant that was ended by force before it came was not entered: the request asks again. */
  private unlessOver(request: Request): void {
    if (request.isAsking) this.askAgain(request);
  }

  /** Their acquire is late, and its answer must still come. Those that have no place do not wait for it. */
  unanswered(asks: readonly Request[], { error }: CommandFailure): void {
    for (const request of asks) {
      if (!request.isAsking || request.ticket !== '') continue;
      this.reject(request, error);
      this.giveUp(request);
    }
  }

  /** Another server may carry out a copy of their acquire later (rule 5). */
  uncertain(asks: readonly Request[]): void {
    for (const request of asks) request.isDoubtful = true;
  }

  /** A request that has a place survives an outage until its wait time ends; a new one is rejected. */
  private failed(group: readonly Request[], failure: CommandFailure): void {
    for (const request of group) {
      if (!request.isAsking) continue;
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
      this.refuse(request, error);
    }
  }

  // ---- grants ------------------------------------------------------------------------------------------------------

  /** A message says that Redis has granted requests of this client, or reminds it of that (rule 8). */
  granted(granted: Granted, at: Instant): void {
    const [sequence] = granted.sequences as [number, ...number[]];
    const hold = this.holds.get(sequence);
    if (hold && granted.sequences.length === 1 && granted.token <= (hold.turn?.number ?? hold.token)) return;
    const head = this.requests.get(sequence);
    const since = head?.seenAt ?? head?.askedAt ?? at;
    const isDoubtful = granted.sequences.some((sequence) => this.requests.get(sequence)?.isDoubtful);
    // If most of the lease may have passed, or another server than the present primary may tell this, a heartbeat asks.
    if (isDoubtful || elapsedSince(since, at) >= (head?.leaseTime ?? granted.left) / 2) {
      // The heartbeat that asks may be the one that reminds: it asks once about each grant.
      if (granted.token !== this.doubted) this.look();
      this.doubted = granted.token;
      return;
    }
    this.give(granted, { since, left: granted.left, isMessage: true });
    this.settle();
  }

  /** Redis has granted requests of this client; a grant to one that has ended is given back. */
  private give({ token, sequences }: Granted, proof: Proof): void {
    const [head, ...others] = sequences.map((sequence) => this.requests.get(sequence));
    const isShared = [head, ...others].some((request) => request && !request.isPlain);
    if (head) this.giveOne(head, token, proof, isShared ? [] : others);
    else this.giveBack(sequences[0]!);
    if (!isShared) return;
    for (const [i, request] of others.entries()) {
      if (request) this.giveOne(request, token, proof);
      else this.giveBack(sequences[i + 1]!);
    }
  }

  /** @param neighbours those that may have their turns after it */
  private giveOne(
    request: Request,
    token: number,
    proof: Proof,
    neighbours: readonly (Request | undefined)[] = [],
  ): void {
    const { state } = request;
    switch (state.is) {
      case 'ready':
      case 'pausing':
      case 'asked':
      case 'waiting':
        if (request.isStale(token, proof.since)) return;
        return this.take(request, token, { ...proof, left: request.leaseTime ?? proof.left }, neighbours);
      case 'held':
        // It gives this hold back when its section has ended. A message about several shared holds has the token of the last, so theirs cannot be compared.
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
    if (this.holds.has(sequence)) return;
    void this.done({ id: this.idOf(sequence) });
  }

  /** Redis holds the lock for the request. */
  private take(
    request: Request,
    token: number,
    proof: Proof,
    neighbours: readonly (Request | undefined)[] = [],
  ): void {
    const at = instant();
    this.enter(new RedisHold(request, token, proof, neighbours, at.monotonic), at);
  }

  /** The head of a hold has its turn, unless its lease has expired or the replicas must confirm it. */
  private enter(hold: RedisHold, at = instant()): void {
    const { head, proof } = hold;
    const { lease } = this.client.times;
    const remaining = hold.remaining(lease, at);
    if (remaining <= 0) return this.missed(hold);
    const now = at.monotonic;
    this.holds.set(head.sequence, hold);
    if (this.client.isReplicated && !hold.isConfirmed) {
      this.move(head, { is: 'confirming', hold });
      hold.renewAt = now;
      return this.wake(now);
    }
    if (!hold.isConfirmed) {
      // The end of a fixed lease is known, unless it came by a message.
      if (proof.isMessage) hold.renewAt = now + Math.min(FIRST_BEAT, remaining / 3);
      else if (head.leaseTime === undefined)
        hold.renewAt = proof.since.monotonic + Math.min(lease, proof.left) / 3;
    }
    this.begin(hold, head, hold.token, now);
    this.wake(hold.renewAt ?? now + remaining);
  }

  /** A neighbour has its turn under the hold; false if none waits, or the row or the lease has ended (rule 9). */
  private handOn(hold: RedisHold): boolean {
    const at = instant();
    const { lease } = this.client.times;
    const next = hold.next(at, lease);
    if (!next) return false;
    this.begin(hold, next.request, next.token, at.monotonic);
    this.wake(hold.row.announceAt ?? at.monotonic + hold.remaining(lease, at));
    return true;
  }

  private begin(hold: RedisHold, request: Request, token: number, now: number): void {
    const lease = new Lease(request.key, hold.proof.since, hold.validity(this.client.times.lease));
    const turn = new Turn(request, hold, token, lease, this, now);
    lease.onLost(() => this.ranOut(turn));
    lease.onRenewingStopped(() => void (hold.isStopped = true));
    hold.turn = turn;
    this.move(request, { is: 'held', turn });
    request.wait.serve(turn);
  }

  /** The grant of a request had expired before it could have its turn. One whose lease is always too short is rejected. */
  private missed(hold: RedisHold): void {
    const { head, token, proof, id } = hold;
    this.holds.delete(head.sequence);
    if (head.lastMissed !== token) head.missed += 1;
    head.lastMissed = token;
    if (head.leaseTime === undefined || head.missed < MOST_MISSED) {
      // Redis may keep that grant for so long.
      return this.askAgain(head, Math.max(1, proof.left - elapsedSince(proof.since)));
    }
    void this.done({ id }, head.leaseTime);
    this.reject(head, leaseTooShort(head.key, head.leaseTime));
  }

  // ---- the end of a hold -------------------------------------------------------------------------------------------

  /** The section of a turn has ended. A lost grant is not kept. */
  release(turn: Turn, keep: number | undefined): Promise<void> {
    const { request, hold } = turn;
    const wasHeld = turn.lease.end();
    this.move(request, { is: 'over' });
    hold.row.ended();
    if (wasHeld && keep === undefined && this.handOn(hold)) return Promise.resolve();
    // Those that have asked meanwhile join the queue first, as neighbours of each other and of those that wait. One alone may find the lock free.
    if (this.willAsk && this.waiting.size + this.toAsk.size > 1) this.client.askNow(this);
    this.holds.delete(hold.head.sequence);
    const ending = { id: hold.head.id, others: hold.row.takeServed().map(({ name }) => name) };
    // Redis counts from the grant, the holder from its turn.
    const kept =
      wasHeld && keep !== undefined
        ? ({ how: 'keep', value: Math.ceil(keep + turn.since - hold.learnedAt) } as const)
        : undefined;
    if (request.wait.share && !kept) return this.leave({ request, about: '', leaseTime: hold.leaseTime });
    return this.done({ ...ending, ...kept }, hold.leaseTime);
  }

  /** The lease has expired, as this client sees it, or Redis has ended it. The section has the margin to stop. */
  private ranOut(turn: Turn): void {
    this.move(turn.request, { is: 'lost', turn });
    this.holds.delete(turn.hold.head.sequence);
  }

  /** Redis has ended the hold. */
  private lose(hold: RedisHold, why: string): void {
    if (hold.turn) return hold.turn.lease.lose(why);
    // In a failover the two connections may lead to two servers for a while.
    this.holds.delete(hold.head.sequence);
    this.askAgain(hold.head, PAUSE);
  }

  /** A message says that Redis has ended a hold. */
  ended({ sequence, token, by }: Ended): void {
    // Its grant may still be under way.
    const request = this.requests.get(sequence);
    if (request) {
      request.seenToken = Math.max(request.seenToken, token);
      request.seenAt = instant();
    }
    const hold = this.holds.get(sequence);
    if (hold && hold.token <= token) {
      // Replicas that do not confirm a grant within its lease never let it begin.
      if (!hold.turn && by !== 'force') this.missed(hold);
      else this.lose(hold, by === 'force' ? BY_FORCE : BY_CLOCK);
    } else if (hold?.head.wait.share) {
      // Shared holds that were granted together all have the token of the last here, so a heartbeat asks, also about a fixed lease.
      hold.renewAt = performance.now();
    }
    this.look();
  }

  // ---- requests give up --------------------------------------------------------------------------------------------

  overdue(request: Request): void {
    const { wait, ticket, state } = request;
    // Redis did not tell in time what blocked it.
    if (state.is === 'over') {
      return wait.refuse(this.client.silenceOf(wait, ticket !== '') ?? timeoutError(request));
    }
    const away = this.client.silenceOf(wait, true);
    if (away || state.is === 'confirming') this.refuse(request, away ?? timeoutError(request));
    else this.leaveQueue(request);
  }

  aborted(request: Request): void {
    this.refuse(request, abortError(request.key, request.wait.reason));
  }

  /** A request ends without the lock, and Redis is told. Has no effect on one that is held, or over. */
  refuse(request: Request, error: unknown): void {
    const { state } = request;
    switch (state.is) {
      case 'ready':
      case 'pausing':
      case 'asked':
      case 'waiting':
        this.reject(request, error);
        if (request.askedAt) this.giveUp(request);
        break;
      case 'confirming':
        this.reject(request, error);
        this.holds.delete(request.sequence);
        void this.done({ id: request.id }, request.leaseTime);
    }
    this.settle();
  }

  /** A request gives up: its error names what blocked it, if Redis tells so in time. */
  private leaveQueue(request: Request): void {
    const { wait } = request;
    this.move(request, { is: 'over' });
    this.client.timers.schedule(wait, performance.now() + BLOCKER_TIME);
    const answered: Leaving['answered'] = (place, blocker) => {
      if (wait.inLine) wait.refuse(timeoutError(request, readBlocker(place, blocker)));
    };
    this.giveUp(request, answered);
  }

  private giveUp(request: Request, answered?: Leaving['answered']): void {
    const { about, leaseTime } = request;
    void this.leave({ request, about, leaseTime, answered });
  }

  /** Those that leave the lock in one turn of the event loop share a `done`. Resolves as that does. */
  private leave(leaving: Omit<Leaving, 'resolve'>): Promise<void> {
    return new Promise((resolve) => {
      if (this.leaving.push({ ...leaving, resolve }) > 1) return;
      this.underWay += 1;
      process.nextTick(() => this.sendLeaving());
    });
  }

  private sendLeaving(): void {
    const all = this.leaving;
    this.leaving = [];
    for (const group of [all.filter(({ answered }) => answered), all.filter(({ answered }) => !answered)]) {
      for (let i = 0; i < group.length; i += MOST_TOGETHER)
        this.doneTogether(group.slice(i, i + MOST_TOGETHER));
    }
    this.answer();
  }

  private doneTogether(group: readonly Leaving[]): void {
    const [first, ...others] = group as readonly [Leaving, ...Leaving[]];
    const { request, about } = first;
    const names = others.map((other) => other.request.name);
    const how = first.answered && ({ how: 'why' } as const);
    const leaseTime = Math.max(...group.map((leaving) => leaving.leaseTime ?? 0));
    void this.done(
      { id: request.id, about, ...how, ...(names.length > 0 && { others: names }) },
      leaseTime,
      // Redis tells the place of the first only.
      ({ answers: [place = [], blocker = []] }) => {
        for (const leaving of group) leaving.answered?.(leaving === first ? place : [], blocker);
      },
    ).then(() => {
      for (const { resolve } of group) resolve();
    });
  }

  private reject(request: Request, error: unknown): void {
    this.move(request, { is: 'over' });
    request.wait.refuse(error);
  }

  /** Refuses all requests, gives back what is held, and resolves when Redis has answered. */
  async close(): Promise<void> {
    const all = [...this.requests.values()];
    for (const request of all) this.refuse(request, new LockShuttingDownError(request.key));
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
      this.answer();
    });
  }

  // ---- heartbeats --------------------------------------------------------------------------------------------------

  /** Asks Redis without delay what it knows. */
  look(): void {
    this.newsAt = performance.now();
    this.restsUntil = 0;
    this.wake(this.newsAt);
  }

  /** A message says that the lock may be free for the first of the queue, a request of this client, in `left` ms. */
  callIn(left: number): void {
    this.keptUntil = performance.now() + left;
    this.callAt = Math.min(this.callAt, this.keptUntil);
    this.wake(this.callAt);
  }

  /** The words of the next heartbeat; undefined: there is nothing to say. Else `beaten` and `renewed`, or `beatFailed`, must follow. */
  nextBeat(): Beat | undefined {
    if (this.named) return undefined;
    const held = this.nextHolds();
    const waiting: Request[] = [];
    for (const request of this.waiting) {
      if (waiting.length === MOST_NAMED) break;
      waiting.push(request);
    }
    if (held.length + waiting.length === 0 && !this.isUrgent) return undefined;
    this.isUrgent = false;
    this.named = { held, waiting };
    this.underWay += 1;
    for (const { row } of held) this.closeRow(row);
    return {
      keys: this.keys,
      held: held.map((hold) => hold.words()),
      waiting: waiting.map(({ name }) => name),
    };
  }

  /** Those that the next heartbeat names: what is due within half of a renewal period is renewed with it, the first to be due first. */
  private nextHolds(): RedisHold[] {
    const soon = performance.now() + renewalPeriod(this.client.times) / 2;
    const due: { readonly hold: RedisHold; readonly at: number }[] = [];
    for (const hold of this.holds.values()) {
      const at = hold.dueAt(this.newsAt);
      if (at !== undefined && at <= soon) due.push({ hold, at });
    }
    if (due.length > MOST_HELD) due.sort((one, other) => one.at - other.at);
    return due.slice(0, MOST_HELD).map(({ hold }) => hold);
  }

  /** The turn under way is the last of its row; those that had theirs before leave the queue. */
  private closeRow(row: Row<Request>): void {
    row.close();
    const [first, ...others] = row.takeServed();
    if (first) void this.done({ id: first.id, about: first.about, others: others.map(({ name }) => name) });
  }

  /** Those whose grants the replicas have not confirmed yet. */
  get unconfirmed(): readonly Request[] {
    const heads = [...this.holds.values()].map(({ head }) => head);
    return heads.filter(({ state }) => state.is === 'confirming');
  }

  /** The heartbeat was answered: what it says of those that wait, and of holds that Redis does not know (rule 6). */
  beaten(reply: Reply): void {
    const { held = [], waiting = [] } = this.named ?? {};
    this.note(reply, true);
    for (const [i, request] of waiting.entries()) {
      this.stillWaits(request, reply, reply.answers[held.length + i] ?? []);
    }
    for (const [i, hold] of held.entries()) {
      if (this.isPresent(hold) && reply.answers[i]?.[0] === 'none') this.lose(hold, GONE);
    }
  }

  /** Its answer counts, also for the replicas: the leases are renewed. */
  renewed({ sentAt, answers }: Reply): void {
    const { held = [] } = this.named ?? {};
    this.named = undefined;
    for (const [i, hold] of held.entries()) {
      const [what, left] = answers[i] ?? [];
      if (what === 'held' && this.isPresent(hold)) this.renew(hold, { since: sentAt, left: Number(left) });
    }
    this.answer();
    this.wake(this.nextDue());
  }

  private renew(hold: RedisHold, proof: Proof): void {
    const { times } = this.client;
    hold.proof = proof;
    hold.isConfirmed = true;
    hold.renewAt = hold.leaseTime === undefined ? proof.since.monotonic + renewalPeriod(times) : undefined;
    hold.row.announced();
    if (!hold.turn) return this.enter(hold);
    hold.turn.lease.renew(proof.since, hold.validity(times.lease));
  }

  /** Whether it has not ended. */
  private isPresent(hold: RedisHold): boolean {
    return this.holds.get(hold.head.sequence) === hold;
  }

  /** The hold of a turn, which has no neighbours, gets a fixed lease from now on. See `Grant.fix`. */
  async fix({ request, hold, lease }: Turn, leaseTime: number): Promise<void> {
    this.underWay += 1;
    try {
      const held = [{ id: hold.id, lease: `=${leaseTime}`, present: '' } as const];
      const reply = await this.client.fix(request.key, { keys: this.keys, held, waiting: [] });
      this.note(reply, false);
      if (!this.isPresent(hold)) return;
      if (reply.answers[0]?.[0] !== 'held') return this.lose(hold, GONE);
      hold.leaseTime = leaseTime;
      hold.proof = { since: reply.sentAt, left: leaseTime };
      hold.renewAt = undefined;
      lease.fix(reply.sentAt, hold.validity(this.client.times.lease));
      this.wake(this.nextDue());
    } finally {
      this.answer();
    }
  }

  /** The heartbeat is late: the leases that it should renew are uncertain. */
  suspect(): void {
    for (const hold of this.named?.held ?? []) if (this.isPresent(hold)) hold.turn?.lease.suspect();
  }

  /** The leases are uncertain, and the next heartbeat follows soon. */
  beatFailed({ retryAfter }: Pick<CommandFailure, 'retryAfter'>): void {
    this.suspect();
    for (const request of this.requests.values()) request.isDoubtful = true;
    this.named = undefined;
    const { times } = this.client;
    this.restsUntil =
      performance.now() + Math.min(retryAfter, heartbeatPeriod(times), renewalPeriod(times) / 2);
    this.answer();
    this.wake(this.nextDue());
  }

  private stillWaits(request: Request, reply: Reply, [what, left, token]: readonly string[]): void {
    if (request.state.is !== 'waiting') return;
    if (what === 'line') return this.stillQueued(request, reply);
    // It was put into the queue again since this command was sent.
    if (request.seenAt && request.seenAt.monotonic > reply.sentAt.monotonic) return;
    if (what === 'held') {
      this.client.missedMessage();
      return this.take(request, Number(token), { since: reply.sentAt, left: Number(left) });
    }
    this.stillQueued(request, reply);
    this.askAgain(request);
  }

  // ---- what all events share ---------------------------------------------------------------------------------------

  /** The one place where a request changes its state. */
  private move(request: Request, to: Request['state']): void {
    this.setOf(request.state)?.delete(request);
    request.move(to);
    this.setOf(to)?.add(request);
    if (to.is === 'over') this.requests.delete(request.sequence);
  }

  private setOf({ is }: Request['state']): Set<Request> | undefined {
    if (is === 'ready' || is === 'pausing') return this.toAsk;
    return is === 'waiting' ? this.waiting : undefined;
  }

  /** Redis says that the request, which waits, does not hold the lock. */
  private stillQueued(request: Request, { token, sentAt }: Reply): void {
    request.seenToken = token;
    request.seenAt = sentAt;
    this.waiting.delete(request);
    this.waiting.add(request);
  }

  /** Takes note of an answer, and of what its script granted. `marked`: it says of each that waits what it knows, and has marked this client alive. */
  private note(reply: Reply, marked: boolean): void {
    const { sentAt, granted, again = Infinity, isUrgent } = reply;
    const soon = sentAt.monotonic + Math.min(again, heartbeatPeriod(this.client.times));
    // The message may be younger than this answer.
    const at = sentAt.monotonic < this.keptUntil ? Math.min(soon, this.keptUntil) : soon;
    this.callAt = marked ? at : Math.min(this.callAt, at);
    // The queue was not looked at to its end (rule 10), or its head may be gone in a moment (rule 7).
    this.isUrgent = isUrgent;
    if (granted) this.give(granted, { since: sentAt, left: granted.left });
    this.wake(this.callDue());
  }

  /** A command was answered, or has failed for good. */
  private answer(): void {
    this.underWay -= 1;
    this.settle();
  }

  /** Called at the latest when something is due, often earlier: it finds out what is. */
  onDue(): void {
    const now = performance.now();
    // To look at the state of a lease that has run out loses it.
    for (const { turn } of this.holds.values()) void turn?.lease.state;
    for (const request of this.toAsk) if (isDue(request, now)) this.askSoon();
    if (this.beatAt <= now) this.client.beat(this);
    this.wake(this.nextDue());
    this.settle();
  }

  /** When the lock must act next (monotonic); Infinity: when something happens. */
  private nextDue(): number {
    let next = this.beatAt;
    for (const { turn } of this.holds.values()) {
      if (turn) next = Math.min(next, performance.now() + turn.lease.remaining());
    }
    for (const { state } of this.toAsk) if (state.is === 'pausing') next = Math.min(next, state.until);
    return next;
  }

  /** When the next heartbeat is due; Infinity: none is, or one is under way. */
  get beatAt(): number {
    if (this.named) return Infinity;
    let due = this.callDue();
    for (const hold of this.holds.values()) due = Math.min(due, hold.dueAt(this.newsAt) ?? Infinity);
    return Math.max(due, this.restsUntil);
  }

  /** When to call for those that wait: at `callAt`, or at `newsAt` if the one that Redis spoke of longest ago has not been asked about since. */
  private callDue(): number {
    if (this.named) return Infinity;
    const [first] = this.waiting;
    if (!first) return this.isUrgent ? this.callAt : Infinity;
    const isNews = (first.seenAt?.monotonic ?? 0) < this.newsAt;
    return isNews ? Math.min(this.callAt, this.newsAt) : this.callAt;
  }

  /** Calls `onDue` at `due`, or before. */
  private wake(due: number): void {
    if (due < Infinity) this.client.timers.scheduleBy(this, due);
  }

  /** Called after each event: when nothing is left, and nothing under way, the lock is forgotten. */
  private settle(): void {
    if (this.underWay > 0) return;
    this.onQuiet?.();
    if (this.requests.size > 0 || this.isUrgent) return;
    this.client.timers.cancel(this);
    this.forget();
  }

  private idOf(sequence: number): string {
    return `${this.client.id}:${sequence}`;
  }
}

function timeoutError({ wait }: Request, blocker?: LockTimeoutError['blockedBy']): LockTimeoutError {
  return new LockTimeoutError(wait.key, wait.waitTime, blocker);
}

/** Whether its acquire may be sent. */
function isDue({ state }: Request, now: number): boolean {
  return state.is === 'ready' || (state.is === 'pausing' && state.until <= now);
}

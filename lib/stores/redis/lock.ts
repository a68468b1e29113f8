import { elapsedSince, type Instant } from '../../core/port/lease.js';
import { abortError, type LockTimeoutError } from '../../core/errors/errors.js';
import type { Grant } from '../../core/port/lock-store.js';
import type { Wait } from '../../core/port/wait.js';
import type { TimedTask, TimerEntry } from '../../core/runtime/timers.js';
import { Answers } from './answers.js';
import { Asks, MOST_TOGETHER } from './asks.js';
import { Beats } from './beats.js';
import type { How, LockKeys } from './commands.js';
import { Holds } from './holds.js';
import { overdue, refuse } from './leaving.js';
import type { ClientCore, LockCore } from './lock-core.js';
import { refusal, type Why } from './refusals.js';
import type { Granted, Reply } from './reply.js';
import { Request, type RequestOwner, type State } from './request.js';

/** What the locks of one client need of it. */
export interface LockClient extends ClientCore {
  /** Calls `sendAsks` when this turn of the event loop has ended. */
  ask(lock: Lock): void;
  /** Sends the next heartbeat of the lock, together with those of others. */
  beat(lock: Lock): void;
}

const BY_FORCE = 'it was released by force';

/**
 * One lock as this client sees it: its requests, what they ask for, what they hold, and the last answers. It does no I/O itself. The table
 * in docs/protocol.md says what happens in which state.
 */
export class Lock implements LockCore, RequestOwner, TimedTask {
  timerEntry: TimerEntry | undefined;
  readonly requests = new Map<number, Request>();
  readonly holds = new Holds(this);
  readonly beats = new Beats(this, this.holds);
  private readonly asks = new Asks(this, this.holds);
  private readonly answers = new Answers();
  waiting = 0;
  holding = 0;
  /** How many commands are not answered. */
  private underWay = 0;
  private onQuiet: (() => void) | undefined;

  constructor(
    readonly client: LockClient,
    readonly keys: LockKeys,
    /** Called when nothing of the lock is left here. */
    private readonly forget: () => void,
  ) {}

  /** A new request. */
  ask(wait: Wait, sequence: number, about: string): Promise<Grant> {
    if (wait.aborted) return Promise.reject(abortError(wait.key, wait.reason));
    const request = new Request(wait, this, sequence, this.idOf(sequence), about);
    this.requests.set(sequence, request);
    wait.enter(request, this.client.timers);
    this.asks.add(request);
    return wait.promise;
  }

  /** Sends the requests that are due. */
  sendAsks(): void {
    this.asks.send();
    this.plan();
  }

  /** A message told of a grant to this client. */
  granted(granted: Granted, at: Instant): void {
    const requests = granted.sequences.flatMap((sequence) => this.requests.get(sequence) ?? []);
    const [first] = requests;
    const since = this.answers.before(granted.token) ?? first?.askedAt ?? at;
    if (elapsedSince(since, at) < (first?.fixed ?? granted.left) / 2) {
      this.holds.give(granted, { since, left: granted.left, isMessage: true });
      this.plan();
    } else {
      // Most of the lease may have passed: a heartbeat asks.
      this.look();
    }
  }

  /** A message told that a hold was ended by force. */
  lostByForce(sequence: number, token: number): void {
    // Its grant may still be under way.
    const request = this.requests.get(sequence);
    if (request) {
      request.told = Math.max(request.told, token);
      request.toldAt = performance.now();
    }
    const id = this.idOf(sequence);
    for (const held of this.held()) if (held.hold === id) this.holds.lose(held, BY_FORCE);
    this.look();
  }

  /** Asks Redis without delay what it knows. */
  look(): void {
    this.beats.hurry();
    this.plan();
  }

  overdue(request: Request): void {
    overdue(this, this.holds, request);
  }

  aborted(request: Request): void {
    this.refuse(request, 'aborted');
  }

  /** A request ends without the lock. Has no effect on one that is held, or over. */
  refuse(request: Request, why: Why | Error): void {
    refuse(this, this.holds, request, why);
  }

  release(request: Request, keep: number | undefined): Promise<void> {
    if (request.state !== 'held' && request.state !== 'lost') return Promise.resolve();
    const released = this.holds.release(request, keep);
    this.plan();
    return released;
  }

  /** Refuses all requests, gives back what is held, and resolves when Redis has answered. */
  async close(): Promise<void> {
    const all = [...this.requests.values()];
    for (const request of all) this.refuse(request, 'closing');
    for (const request of all) void request.release();
    if (this.underWay > 0) await new Promise<void>((resolve) => (this.onQuiet = resolve));
  }

  askSoon(): void {
    this.client.ask(this);
  }

  onDue(): void {
    const now = performance.now();
    this.holds.expire(now);
    if (this.asks.at <= now) this.sendAsks();
    if (this.beats.at <= now) this.client.beat(this);
    this.plan();
  }

  plan(): void {
    const due = Math.min(this.asks.at, this.holds.endsAt, this.beats.at);
    const { timers } = this.client;
    if (due < Infinity) timers.schedule(this, due);
    else timers.cancel(this);
    if (this.underWay > 0) return;
    this.onQuiet?.();
    if (this.requests.size === 0) this.forget();
  }

  move(request: Request, to: State): void {
    this.count(request.state, -1);
    request.state = to;
    this.count(to, 1);
    if (to === 'over') this.requests.delete(request.sequence);
    if (this.holding === 0) this.holds.endsAt = this.holds.renewAt = Infinity;
  }

  held(): Request[] {
    if (this.holding === 0) return [];
    return [...this.requests.values()].filter(({ state }) => state === 'held' || state === 'confirming');
  }

  sent(): void {
    this.underWay += 1;
  }

  ended(): void {
    this.underWay -= 1;
    this.plan();
  }

  note(reply: Reply, marked: boolean): void {
    const { sentAt, token, granted } = reply;
    this.answers.add({ sentAt, token });
    this.beats.answered(reply, marked);
    if (granted) this.holds.give(granted, { since: sentAt, left: granted.left });
  }

  told(request: Request, { token, sentAt }: Reply): void {
    request.told = token;
    request.toldAt = sentAt.monotonic;
    this.requests.delete(request.sequence);
    this.requests.set(request.sequence, request);
  }

  reportPlace(request: Request, ahead: number): void {
    if (request.isPlaced) return;
    request.isPlaced = true;
    try {
      request.wait.queued(ahead, request.id);
    } catch (error) {
      // A callback of the caller must not throw into the client: its request is refused.
      this.refuse(request, error as Error);
    }
  }

  askAgain(request: Request, pause?: number): void {
    this.move(request, 'asking');
    request.hold = request.id;
    this.asks.add(request, pause);
  }

  askNeighbours(): void {
    const inLine = [...this.requests.values()].filter(({ state, isPlain }) => state === 'waiting' && isPlain);
    inLine.sort((one, other) => Number(one.ticket) - Number(other.ticket));
    for (const request of inLine.slice(0, MOST_TOGETHER)) this.askAgain(request);
    this.sendAsks();
  }

  end(request: Request, why: Why | Error, blocker?: LockTimeoutError['blockedBy']): void {
    this.move(request, 'over');
    request.wait.refuse(why instanceof Error ? why : refusal(request, why, blocker));
  }

  done(id: string, how?: How, answered?: (reply: Reply) => void, fixed = 0): Promise<void> {
    this.underWay += 1;
    const lease = Math.max(fixed, this.client.times.lease);
    return this.client.commands.done(this.keys, id, how, lease, (reply) => {
      this.underWay -= 1;
      if (reply && !('usual' in reply)) {
        this.note(reply, false);
        answered?.(reply);
      }
      this.plan();
    });
  }

  idOf(sequence: number): string {
    return `${this.client.id}:${sequence}`;
  }

  private count(state: State, by: 1 | -1): void {
    if (state === 'waiting') this.waiting += by;
    else if (state === 'held' || state === 'confirming') this.holding += by;
  }
}

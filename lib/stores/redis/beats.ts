import type { CommandFailure } from '../redis-client/server/server-failure.js';
import type { Beat } from './commands.js';
import type { Holds } from './holds.js';
import type { LockCore } from './lock-core.js';
import type { Reply } from './reply.js';
import type { Request, State } from './request.js';

/** What a heartbeat named. */
interface Named {
  readonly held: readonly Request[];
  readonly waiting: readonly Request[];
}

/** How many of those that wait one heartbeat names, in turn. */
const MOST_NAMED = 100;

const GONE = 'Redis no longer has its grant: the lease expired, it was released by force, or data was lost';
const HOLDS: readonly State[] = ['held', 'confirming'];

/** The heartbeats of one lock: when they are due, what they name, and what their answers mean (rule 6). */
export class Beats {
  /** When to call because requests wait (monotonic). */
  private callAt = Infinity;
  /** How many of those that wait should be named without delay, because Redis may have lost them. */
  private unchecked = 0;
  /** When a message last said that something changed in Redis (monotonic); answers to earlier commands may not show it. */
  private newsAt = -Infinity;
  private named: Named | undefined;

  constructor(
    private readonly lock: LockCore,
    private readonly holds: Holds,
  ) {}

  /** When the next one is due (monotonic). */
  get at(): number {
    if (this.named) return Infinity;
    return Math.min(this.holds.renewAt, this.lock.waiting > 0 ? this.callAt : Infinity);
  }

  /** Those that the heartbeat under way named and that the replicas are still to confirm. */
  get unconfirmed(): readonly Request[] {
    return (this.named?.held ?? []).filter(({ state }) => state === 'confirming');
  }

  /** Redis answered. `marked`: it has told of all that wait, and marked this client alive. */
  answered({ sentAt, again = Infinity }: Reply, marked: boolean): void {
    const { window } = this.lock.client.times;
    const at = sentAt.monotonic + Math.min(again, window / 3);
    this.callAt = marked ? at : Math.min(this.callAt, at);
    if (this.unchecked > 0 || sentAt.monotonic < this.newsAt) this.callAt = -Infinity;
    // The line was not looked at to its end (rule 10): also who waits no more calls again, for the others.
    if (again === 0 && this.lock.holding > 0) this.holds.renewAt = sentAt.monotonic;
  }

  /** Asks without delay. */
  hurry(): void {
    this.unchecked = this.lock.waiting;
    this.newsAt = performance.now();
    this.callAt = -Infinity;
    if (this.lock.holding > 0) this.holds.renewAt = -Infinity;
  }

  /** The words of the next heartbeat; undefined: there is nothing to say. Else `applyLeases` or `failed` must follow. */
  next(): Beat | undefined {
    const { lock } = this;
    if (this.named) return undefined;
    const held = lock.held().filter(({ isReported }) => !isReported);
    const waiting: Request[] = [];
    for (const request of lock.requests.values()) {
      if (waiting.length === MOST_NAMED || waiting.length === lock.waiting) break;
      if (request.state === 'waiting') waiting.push(request);
    }
    this.holds.renewAt = Infinity;
    if (held.length + waiting.length === 0) return undefined;
    this.named = { held, waiting };
    return {
      keys: lock.keys,
      held: held.map(({ hold, isStopped, present }) => ({ id: hold, lease: isStopped ? 0 : '', present })),
      waiting: waiting.map(({ name }) => name),
    };
  }

  /** What the answer says of those that wait, and of holds that Redis does not know. */
  applyLine(reply: Reply): void {
    const { held = [], waiting = [] } = this.named ?? {};
    this.unchecked = Math.max(0, this.unchecked - waiting.length);
    for (const [i, request] of waiting.entries()) {
      this.stillWaits(request, reply, reply.answers[held.length + i] ?? []);
    }
    for (const [i, request] of held.entries()) {
      if (HOLDS.includes(request.state) && reply.answers[i]?.[0] === 'none') this.holds.lose(request, GONE);
    }
  }

  /** What the answer says of the leases. */
  applyLeases(reply: Reply): void {
    const { held = [] } = this.named ?? {};
    this.named = undefined;
    const { renewAt } = this.holds;
    this.holds.renewAt = Math.min(renewAt, reply.sentAt.monotonic + this.lock.client.times.lease / 3);
    for (const [i, request] of held.entries()) {
      const [what, left] = reply.answers[i] ?? [];
      if (what === 'held') this.holds.renewed(request, reply.sentAt, Number(left));
    }
  }

  /** The leases are uncertain, and the next heartbeat follows soon. */
  failed({ retryAfter }: Pick<CommandFailure, 'retryAfter'>): void {
    for (const { state, lease } of this.named?.held ?? []) if (state === 'held') lease.suspect();
    this.named = undefined;
    const soon = performance.now() + Math.min(retryAfter, this.lock.client.times.window / 3);
    this.callAt = soon;
    if (this.lock.holding > 0) this.holds.renewAt = Math.min(this.holds.renewAt, soon);
  }

  private stillWaits(request: Request, reply: Reply, [what, left, token]: readonly string[]): void {
    const { lock } = this;
    if (request.state !== 'waiting') return;
    if (what === 'line') return lock.told(request, reply);
    // It was put in line again since this command was sent.
    if (request.toldAt > reply.sentAt.monotonic) return;
    if (what === 'held') {
      lock.client.missedMessage();
      return this.holds.enter(request, Number(token), { since: reply.sentAt, left: Number(left) });
    }
    lock.told(request, reply);
    lock.askAgain(request);
  }
}

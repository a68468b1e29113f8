import { now } from '../../core/port/lease.js';
import { leave } from './leave.js';
import { toCommandFailure } from '../redis-client/server/server-failure.js';
import type { Usual } from './commands.js';
import type { Holds } from './holds.js';
import type { LockCore } from './lock-core.js';
import { readBlocker, type Reply } from './reply.js';
import type { Request } from './request.js';

/** The most that one acquire asks for, and that Redis grants together. */
export const MOST_TOGETHER = 64;

/** The requests of one lock that ask for their places, for the first time or again. */
export class Asks {
  private fresh = new Set<Request>();
  private isDue = false;
  /** When to ask for those that must wait (monotonic). */
  at = Infinity;

  constructor(
    private readonly lock: LockCore,
    private readonly holds: Holds,
  ) {}

  /** Asks when this turn of the event loop has ended, or after `pause` ms. */
  add(request: Request, pause = 0): void {
    this.fresh.add(request);
    if (pause > 0) {
      this.at = Math.min(this.at, performance.now() + pause);
    } else if (!this.isDue) {
      this.isDue = true;
      this.lock.askSoon();
    }
  }

  /** Sends the requests that are due: plain ones together, others alone. */
  send(): void {
    const { fresh } = this;
    this.fresh = new Set();
    this.isDue = false;
    this.at = Infinity;
    let group: Request[] = [];
    for (const request of fresh) {
      if (request.state !== 'asking') continue;
      const joins = request.isPlain && request.most === Infinity;
      if (group.length > 0 && (!joins || group.length === MOST_TOGETHER)) {
        this.ask(group);
        group = [];
      }
      group.push(request);
      if (joins) continue;
      this.ask(group);
      group = [];
    }
    if (group.length > 0) this.ask(group);
  }

  private ask(group: readonly Request[]): void {
    const { lock } = this;
    const askedAt = now();
    for (const request of group) request.askedAt ??= askedAt;
    lock.sent();
    const repeated = (): void => {
      for (const request of group) request.isCopied = true;
    };
    const answered = (reply: Reply | Usual): void => this.answered(group, reply);
    lock.client.commands.acquire(lock.keys, group, repeated, answered).then(
      () => lock.ended(),
      (error: unknown) => {
        this.failed(group, error);
        lock.ended();
      },
    );
  }

  private answered(group: readonly Request[], reply: Reply | Usual): void {
    const { lock } = this;
    if ('usual' in reply) {
      const [request] = group as readonly [Request];
      const left = request.fixed ?? lock.client.times.lease;
      const granted = { token: reply.usual, left, sequences: [request.sequence] };
      this.holds.give(granted, { since: reply.sentAt, left });
      return this.unlessOver(request);
    }
    // Those that have waited before must be asked about as soon as without the new ones: their messages may be lost.
    const isFirst = lock.waiting === 0 && reply.answers.some(([what]) => what === 'line');
    lock.note(reply, isFirst);
    for (const [i, request] of group.entries()) this.apply(request, reply, reply.answers[i] ?? []);
  }

  private apply(request: Request, reply: Reply, words: readonly string[]): void {
    const { lock } = this;
    const [what, first, second] = words;
    // What became of it since the command was sent counts more (rule 6). A request that has ended was given back then; its batch may still
    // hold the lock under its name.
    if (request.state === 'next') lock.reportPlace(request, this.holds.blockerOf(request).ahead ?? 0);
    if (request.state !== 'asking') return;
    switch (what) {
      case 'line':
        request.ticket = first!;
        lock.told(request, reply);
        lock.move(request, 'waiting');
        return lock.reportPlace(request, Number(second));
      case 'held': {
        const [left, token] = [Number(first), Number(second)];
        if (request.isTold(token, reply.sentAt)) return lock.askAgain(request);
        return this.holds.enter(request, token, { since: reply.sentAt, left });
      }
      case 'granted':
        return this.unlessOver(request);
      case 'busy':
        return lock.end(request, 'timed out', readBlocker([], words.slice(1)));
      case 'full':
        return lock.end(request, 'full');
    }
  }

  /** A grant that was ended by force before it came was not entered: the request asks again. */
  private unlessOver(request: Request): void {
    if (request.state === 'asking') this.lock.askAgain(request);
  }

  /** A request that has a place survives an outage until its wait time ends; a new one is refused. */
  private failed(group: readonly Request[], error: unknown): void {
    const failure = toCommandFailure(error);
    for (const request of group) {
      if (failure.effect === 'unknown') request.isCopied = true;
      if (request.state === 'over' && request.isCopied && !request.isMarked) this.giveUp(request);
      if (request.state !== 'asking') continue;
      if (request.ticket !== '' && failure.retriable) {
        this.add(request, Math.min(failure.retryAfter, 1_000));
        continue;
      }
      if (request.ticket !== '' || request.isCopied) this.giveUp(request);
      this.lock.end(request, failure.error);
    }
  }

  /** The request has ended, and Redis may not know it. */
  private giveUp(request: Request): void {
    if (!this.holds.isHead(request)) leave(this.lock, request);
  }
}

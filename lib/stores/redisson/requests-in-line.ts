import {
  LockQueueFullError,
  LockShuttingDownError,
  LockStoreUnavailableError,
  LockTimeoutError,
  type FairLockError,
} from '../../core/errors.js';
import { quote } from '../../core/text.js';
import { commandTimeout, toCommandFailure, type CommandFailure } from '../redis-client/server-failure.js';
import type { ClientContext } from './client-context.js';
import { Departures } from './departures.js';
import type { Answer } from './line-commands.js';
import type { LineKeys } from './line-keys.js';
import type { Waiter } from './waiter.js';

/** Pause before a request that is in line asks again after a failure, ms. */
const RETRY_PAUSE = 100;
/**
 * A free lock is the head's, who may be on the way, or dead: others look after it again after this, ms, then after twice as
 * long, and so on. Who did not look would not know when the lease ends that the head took meanwhile.
 */
const FREE_PAUSE = 25;

/** What the requests need of the line they stand in. */
export interface LineOfRequests {
  readonly key: string;
  readonly keys: LineKeys;
  /** This request has the lock, says the answer. */
  granted(waiter: Waiter, answer: Answer): void;
  isHeldBy(waiter: Waiter): boolean;
  /** Who this client has under that name in Redis, for people, and since when. */
  describe(id: string): { readonly who: string; readonly since: number } | undefined;
  /** The first in line asks within `delay` ms, and within the time of a look in any case. */
  lookWithin(delay: number): void;
  /** Runs while the line must not be forgotten. */
  busy<T>(work: () => Promise<T>): Promise<T>;
}

/** This client's requests for one lock, in the order of their places: joining, keeping the place, giving up. */
export class RequestsInLine {
  private readonly waiters = new Map<number, Waiter>();
  private readonly departures: Departures;
  /** Whoever asked by this command, or a later one, knows where it stands. */
  private checkedOrder = 0;
  /** How often in a row the lock was found free, waiting for a head that is not of this client. */
  private freeLooks = 0;

  constructor(
    private readonly line: LineOfRequests,
    private readonly context: ClientContext,
  ) {
    this.departures = new Departures(line, context, (id) => this.tell(id));
  }

  get size(): number {
    return this.waiters.size;
  }

  /** The request that Redis names so, if it is in line and of this client. */
  named(id: string): Waiter | undefined {
    const [uuid, thread] = id.split(':');
    return uuid === this.context.uuid ? this.waiters.get(Number(thread)) : undefined;
  }

  join(waiter: Waiter): void {
    this.waiters.set(waiter.thread, waiter);
    void this.ask(waiter);
    waiter.limitWait();
  }

  /** It is, or may be, the turn of the request that Redis names so, if it is of this client. */
  tell(id: string): void {
    const waiter = this.named(id);
    if (waiter) void this.ask(waiter);
  }

  askFirst(): void {
    const first = this.first();
    if (first) void this.ask(first);
  }

  /** It has the lock, and so many wait in all, said the command of that order. */
  served(waiter: Waiter, waiting: number, order: number): void {
    this.remove(waiter);
    if (waiting >= this.waiters.size) return;
    const placed = [...this.waiters.values()].filter((other) => other.placed);
    if (waiting < placed.length) this.checkPlaces(order);
  }

  /**
   * The answer took longer than the lease: it is not entered (M1) but given back. The request asks anew, once: a lease may be
   * too short for any answer.
   */
  grantedTooLate(waiter: Waiter): void {
    if (waiter.tries || waiter.grantedTooLate) {
      const text =
        `The lock ${quote(this.line.key)} was granted, but the answer took longer than its lease of ${waiter.leaseTime} ms, ` +
        'so it was given back. Raise leaseTime, or leave it out: then the lease is renewed.';
      this.reject(waiter, new LockStoreUnavailableError('timeout', text));
    }
    waiter.grantedTooLate = true;
    void this.departures.leave(waiter).then(() => this.ask(waiter));
  }

  /** Everybody out: the client closes. Resolves when Redis knows. */
  async close(): Promise<void> {
    const leaving = [...this.waiters.values()].map((waiter) => {
      this.reject(waiter, new LockShuttingDownError(this.line.key));
      return this.departures.leave(waiter);
    });
    await Promise.all(leaving);
  }

  // ---- asking ----------------------------------------------------------------------------------------------------

  /** Asks for the lock or a place in line. If it is asking already, asks once more after that. Never rejects. */
  private async ask(waiter: Waiter): Promise<void> {
    if (waiter.settled) return;
    waiter.askAgain = waiter.asking;
    if (waiter.asking) return;
    waiter.asking = true;
    await this.line.busy(async () => {
      try {
        const answer = await this.insistOnAnswer(waiter);
        waiter.asking = false;
        this.understand(waiter, answer);
      } catch (error) {
        waiter.asking = false;
        this.askingFailed(waiter, toCommandFailure(error));
      }
    });
    if (waiter.askAgain) void this.ask(waiter);
    if (waiter.settled) this.departures.takeOutLateCopies(waiter);
  }

  private async insistOnAnswer(waiter: Waiter): Promise<Answer> {
    const { commands, retry, timing } = this.context;
    const deadline = performance.now() + timing.commandTimeout;
    const say = async (): Promise<Answer> => {
      const asked = commands.acquire(this.line.keys, waiter, deadline);
      waiter.askedOrder = commands.lastOrder;
      try {
        return await asked;
      } catch (error) {
        const failure = toCommandFailure(error);
        if (failure.effect === 'unknown') waiter.unsureUntil = deadline;
        throw failure;
      }
    };
    let answer = await retry.until(say, deadline, () => waiter.settled);
    // The first command of a connection only learns the server's time; so does one after a step of its clock (R2).
    while (answer.status === 'EXPIRED' && performance.now() < deadline && !waiter.settled) {
      answer = await retry.until(say, deadline, () => waiter.settled);
    }
    return answer;
  }

  private understand(waiter: Waiter, answer: Answer): void {
    const { status, order, details } = answer;
    const { key } = this.line;
    if (waiter.settled) {
      // Nobody waits for this any more (R10). A leave that was sent later has seen to it.
      const took = status === 'HELD' || status === 'WAITS';
      if (took && order > waiter.leftOrder) void this.departures.leave(waiter);
      return;
    }
    switch (status) {
      case 'HELD':
        return this.line.granted(waiter, answer);
      case 'WAITS':
        return this.queued(waiter, answer);
      case 'BUSY':
        return this.reject(waiter, new LockTimeoutError(key, 0, this.departures.blocker(details[0])));
      case 'FULL':
        return this.reject(waiter, new LockQueueFullError(key, waiter.maxQueue));
      default:
        throw commandTimeout(this.context.timing.commandTimeout);
    }
  }

  private askingFailed(waiter: Waiter, failure: CommandFailure): void {
    if (waiter.settled) return;
    if (waiter.placed && failure.retriable) {
      // In line already: it survives the outage until its wait time ends.
      this.context.retry.later(RETRY_PAUSE, () => void this.ask(waiter));
      return;
    }
    this.reject(waiter, failure.error);
    if (waiter.placed || failure.effect === 'unknown') void this.departures.leave(waiter);
  }

  private queued(waiter: Waiter, { order, details }: Answer): void {
    const [ahead, place, holder, ms, head] = details;
    const joins = !waiter.placed;
    waiter.placed = true;
    if (joins) this.tellPlace(waiter, Number(ahead));
    else if (place === 'new') this.lostPlace(waiter, order);
    if (waiter.settled) return;
    void this.listen(waiter);
    // A grant whose answer was lost is found here, and a turn whose message was.
    const next = String(holder || head);
    if (next !== waiter.id) this.tell(next);
    this.freeLooks = holder ? 0 : this.freeLooks + 1;
    const pause = holder ? Infinity : FREE_PAUSE * 2 ** this.freeLooks;
    this.line.lookWithin(Math.min(pause, Number(ms) < 0 ? Infinity : Number(ms) + 1));
  }

  private tellPlace(waiter: Waiter, ahead: number): void {
    try {
      waiter.request.onQueued?.(ahead);
    } catch (error) {
      if (waiter.settle()) this.gaveUp(waiter, error);
    }
  }

  /** Messages to the waiter are heard from here on; what came before is found by asking. */
  private async listen(waiter: Waiter): Promise<void> {
    if (waiter.listening) return;
    waiter.listening = true;
    await this.context.wakeUps.add(this.channelOf(waiter));
    // Only the first of this client's requests can have been woken: the others stand behind it.
    if (this.first() === waiter) void this.ask(waiter);
  }

  // ---- keeping the place -----------------------------------------------------------------------------------------

  /** Others took it for dead, because its deadline had passed, or Redis lost the line. It stands at the end now. */
  private lostPlace(waiter: Waiter, order: number): void {
    this.waiters.delete(waiter.thread);
    this.waiters.set(waiter.thread, waiter);
    this.context.onWarning(lostPlaceWarning(this.line.key, waiter));
    this.checkPlaces(order);
  }

  /** What happened to one, by the command of that order, may have happened to all: each asks, in order, once. */
  private checkPlaces(order: number): void {
    if (order <= this.checkedOrder) return;
    for (const waiter of [...this.waiters.values()]) if (waiter.askedOrder < order) void this.ask(waiter);
    this.checkedOrder = this.context.commands.lastOrder;
  }

  // ---- giving up -----------------------------------------------------------------------------------------------------

  /** The wait time ended or the caller aborted: from here on the request takes no grant (M4). */
  giveUp(waiter: Waiter, error: FairLockError): void {
    if (waiter.settle()) this.gaveUp(waiter, error);
  }

  private gaveUp(waiter: Waiter, error: unknown): void {
    this.remove(waiter);
    if (error instanceof LockTimeoutError) {
      void this.departures.timeOut(waiter, error.waitTime);
    } else {
      waiter.rejectSettled(error);
      void this.departures.leave(waiter);
    }
  }

  private reject(waiter: Waiter, error: unknown): void {
    this.remove(waiter);
    waiter.fail(error);
  }

  private first(): Waiter | undefined {
    const [first] = this.waiters.values();
    return first;
  }

  private remove(waiter: Waiter): void {
    this.waiters.delete(waiter.thread);
    if (waiter.listening) this.context.wakeUps.remove(this.channelOf(waiter));
  }

  private channelOf(waiter: Waiter): string {
    return `${this.line.keys.channel}:${waiter.id}`;
  }
}

function lostPlaceWarning(key: string, { who, waited, request: { waitTime } }: Waiter): string {
  const advice =
    waitTime === Infinity
      ? 'a waiter without a wait time is dropped when a lock is held for longer than fairLockWaitTimeout: raise it here and in Java. '
      : 'longer wait times make this rarer. ';
  return (
    `A request for the lock ${quote(key)} (${who}) lost its place after ${Math.round(waited)} ms and stands at the end of the ` +
    'line now. Either its deadline in Redis had passed, by which Redisson recognizes a dead waiter, or Redis lost the line. ' +
    `If it was the deadline: ${advice}Where Java clients take most of the grants, deadlines fall behind; and the clocks of all ` +
    'hosts must agree (NTP). docs/redisson.md explains the deadlines.'
  );
}

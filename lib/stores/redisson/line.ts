import type { TimedTask, TimerEntry, Timers } from '../../core/runtime/timers.js';
import type { Queued } from './commands.js';
import type { RedissonRequest } from './request.js';

/** Longest time between two looks of the first in the queue, ms. */
const LONGEST_LOOK = 3_000;
/**
 * A free lock belongs to the head of the queue, which may be about to ask, or dead. Others ask again after this pause (ms), then after
 * twice as long, and so on. Otherwise they would not know when the lease ends that the head took since.
 */
const FREE_PAUSE = 25;

/**
 * The requests of this client for one lock, in the order of their places.
 *
 * A message is only a hint to ask again. The first in the queue also asks when the holder's lease should end, and as often as a lease is
 * renewed or every 3 s, so that the queue goes on even if all messages are lost.
 */
export class Line implements TimedTask {
  timerEntry: TimerEntry | undefined;
  readonly requests = new Map<string, RedissonRequest>();
  private readonly longest: number;
  private nextLook = Infinity;
  /** How often in a row the lock was found free, waiting for a head that is not of this client. */
  private freeLooks = 0;
  /** When all requests last asked for their places (monotonic ms). */
  private checkedAt = 0;

  constructor(
    private readonly ask: (request: RedissonRequest) => void,
    private readonly timers: Timers,
    lease: number,
  ) {
    this.longest = Math.min(lease / 3, LONGEST_LOOK);
  }

  /** @returns whether any is left */
  remove({ id }: RedissonRequest): boolean {
    this.requests.delete(id);
    if (this.requests.size > 0) return true;
    this.nextLook = Infinity;
    this.timers.cancel(this);
    return false;
  }

  get first(): RedissonRequest | undefined {
    for (const request of this.requests.values()) if (request.waits) return request;
    return undefined;
  }

  look(): void {
    if (this.first) this.ask(this.first);
  }

  /** Looks within `ms`. */
  lookWithin(ms: number): void {
    const due = performance.now() + Math.min(ms, this.longest);
    if (due >= this.nextLook || !this.first) return;
    this.nextLook = due;
    this.timers.schedule(this, due);
  }

  onDue(): void {
    this.nextLook = Infinity;
    this.look();
    this.lookWithin(this.longest);
  }

  /** A reply showed how long the lock is held, or that it is free and whose turn it is. */
  lookAfter({ holder, left }: Queued): void {
    this.freeLooks = holder === undefined ? this.freeLooks + 1 : 0;
    const pause = holder === undefined ? FREE_PAUSE * 2 ** this.freeLooks : Infinity;
    this.lookWithin(Math.min(pause, left + 1));
  }

  /** Redis had fewer waiters than this client alone: some have lost their places. */
  expect(waiting: number, sentAt: number): void {
    let placed = 0;
    for (const { state } of this.requests.values()) if (state.is === 'waiting') placed += 1;
    if (waiting < placed) this.checkPlaces(sentAt);
  }

  /** By a command sent at `sentAt`, a request was put at the end because it had no place. */
  moveToEnd(request: RedissonRequest, sentAt: number): void {
    this.requests.delete(request.id);
    this.requests.set(request.id, request);
    this.checkPlaces(sentAt, request);
  }

  /** If one has lost its place, others may have too: each asks once, in order. */
  private checkPlaces(sentAt: number, known?: RedissonRequest): void {
    if (sentAt <= this.checkedAt) return;
    this.checkedAt = performance.now();
    for (const request of this.requests.values()) if (request !== known) this.ask(request);
  }
}

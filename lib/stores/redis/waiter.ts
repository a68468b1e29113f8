import type { FairLockError } from '../../core/errors.js';
import type { Linked } from '../../core/linked-list.js';
import type { LockRequest } from '../../core/lock-store.js';
import type { Watchdog } from '../../core/watchdog.js';
import { PendingRequest } from '../redis-client/pending-request.js';
import type { Asking } from './line-commands.js';

/** One request in line, with what this client knows of its place. */
export class Waiter extends PendingRequest implements Asking, Linked<Waiter> {
  previous: Waiter | undefined;
  next: Waiter | undefined;

  /** Place in line, given by Redis; 0 before the first acknowledgement. */
  ticket = 0;
  /** The client's generation under which the request was last acknowledged (M5). */
  generation = 0;
  /** Whether an acquire is under way. */
  asking = false;
  /** Only an acknowledgement of a later command than this counts (M6); 0: there is no need for another. */
  need = 0;
  /** The last command that took it out of the line. */
  leftOrder = 0;
  /** How many of its grants were over before this process heard of them. */
  missed = 0;
  /** Settled without the lock. */
  gaveUp = false;
  private told = false;
  private wasSure = true;

  constructor(
    request: LockRequest,
    watchdog: Watchdog,
    readonly sequence: number,
    readonly label: string,
    requests: { giveUp(waiter: Waiter, error: FairLockError): void },
  ) {
    super(request, watchdog, requests);
  }

  get leaseTime(): number | undefined {
    return this.request.leaseTime;
  }

  get maxQueue(): number {
    return this.request.maxQueue;
  }

  /** It waits in an unbounded line for a lease that is renewed: such requests may ask together. */
  get plain(): boolean {
    return !this.tries && this.leaseTime === undefined && this.maxQueue === Infinity;
  }

  /** A command for it goes out that was asked for at `asked` and may run until `deadline`. */
  mayBeUnsure(asked: number, deadline: number): void {
    this.wasSure = this.unsureUntil < asked;
    this.unsureUntil = deadline;
  }

  /** The command has run, once. */
  sureAgain(): void {
    if (this.wasSure) this.unsureUntil = 0;
  }

  /** Acknowledged in line. */
  acknowledged(ticket: number, answer: { order: number; generation: number }): void {
    this.ticket = ticket;
    this.generation = answer.generation;
    if (answer.order > this.need) this.need = 0;
  }

  /** Tells the caller, once, how many will be served before it. */
  tellPlace(ahead: number): void {
    if (this.told || this.settled) return;
    this.told = true;
    this.request.onQueued?.(ahead);
  }
}

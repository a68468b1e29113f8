import type { FairLockError } from '../../core/errors.js';
import type { LockRequest } from '../../core/lock-store.js';
import type { Watchdog } from '../../core/watchdog.js';
import { PendingRequest } from '../redis-client/pending-request.js';
import type { Asking } from './line-commands.js';
import type { Timing } from './timing.js';

/** The longest wait or lease that is written, ms (about 34 years): sums of many stay exact. */
const LONGEST = 2 ** 40;

/** One request on its way to the lock, and what is known of its place in line. */
export class Waiter extends PendingRequest implements Asking {
  readonly wait: number;
  readonly leaseTime: number;
  /** Acknowledged in line at least once. */
  placed = false;
  /** Had a grant that was over when it was heard of. */
  grantedTooLate = false;
  /** Its grant was taken by force before it was heard of. */
  forced = false;
  /** Whether its channel is, or will be, subscribed. */
  listening = false;
  /** Whether an acquire is under way, and whether something happened since that calls for another. */
  asking = false;
  askAgain = false;
  /** The last acquire and the last leave that were sent for it. */
  askedOrder = 0;
  leftOrder = 0;

  constructor(
    request: LockRequest,
    watchdog: Watchdog,
    /** Its thread number, to Redisson. */
    readonly thread: number,
    readonly id: string,
    /** For people: `web-1/4711/OrdersService.pay`. */
    readonly who: string,
    timing: Timing,
    requests: { giveUp(waiter: Waiter, error: FairLockError): void },
  ) {
    super(request, watchdog, requests);
    const { waitTime, leaseTime } = request;
    this.wait = waitTime === 0 || waitTime === Infinity ? timing.waitTimeout : whole(waitTime);
    this.leaseTime = whole(leaseTime ?? timing.lease);
  }

  /** Who was in line once is not refused when it has to enter again. */
  get maxQueue(): number {
    return this.placed ? Infinity : this.request.maxQueue;
  }

  /** Whether its grant is to be renewed. */
  get renewed(): boolean {
    return this.request.leaseTime === undefined;
  }
}

/** Redisson counts whole milliseconds. */
function whole(ms: number): number {
  return Math.min(Math.max(1, Math.ceil(ms)), LONGEST);
}

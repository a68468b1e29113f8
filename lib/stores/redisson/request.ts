import { clientName } from '../../core/port/client-name.js';
import { LONGEST_LABEL } from '../../core/port/lock-store.js';
import type { Wait } from '../../core/port/wait.js';
import type { CommandFailure } from '../redis-client/server/server-failure.js';
import type { Client } from './client.js';
import type { AcquireReply, WireRequest } from './commands.js';
import type { LineKeys } from './keys.js';
import type { RedissonGrant } from './redisson-grant.js';

/** The longest wait or lease that is written, ms (about 34 years): sums of many stay exact. */
const LONGEST = 2 ** 40;

/**
 * Where a request is. Its lock leads it on (`hear` in redisson-lock.ts):
 *
 * | state | granted | queued | busy, full | failed | overdue, aborted, closing |
 * | --- | --- | --- | --- | --- | --- |
 * | asking | holding | waiting | over | over; leaves if the effect is unknown | over; leaves |
 * | waiting | holding | waiting | – | asks again, or over and leaves | over; leaves |
 * | holding | – | – | – | – | – |
 * | over | leaves | leaves | – | – | – |
 */
export type State =
  /** It was never in the queue so far. */
  | { readonly is: 'asking' }
  /** It is in the queue, and listens to its channel. */
  | { readonly is: 'waiting' }
  | { readonly is: 'holding'; readonly grant: RedissonGrant }
  /** It wants neither the lock nor a place. */
  | { readonly is: 'over' };

/** What happens to a request: a reply to its acquire or none, or that it is not to wait any longer. */
export type News =
  | AcquireReply
  | { readonly status: 'failed'; readonly failure: CommandFailure }
  | { readonly status: 'overdue' | 'aborted' | 'closing' };

/** One request of this client, from the call to the release. */
export class RedissonRequest implements WireRequest {
  state: State = { is: 'asking' };
  /** Since when it waits or holds (monotonic ms). */
  since: number;
  /** For people: `web-1/4711/OrdersService.pay`. */
  readonly who: string;
  readonly channel: string;
  readonly wait: number;
  readonly leaseTime: number;
  readonly tries: boolean;
  /** Whether its acquire is under way, and another must follow that one. */
  asks = false;
  asksAgain = false;
  /** Its grant was taken by force before the reply with the grant was applied. */
  forced = false;
  /** How many of its grants had expired before their replies were received. */
  missed = 0;

  constructor(
    readonly id: string,
    readonly call: Wait,
    keys: LineKeys,
    { where, options }: Pick<Client, 'where' | 'options'>,
  ) {
    const { waitTime, leaseTime, label, since, deadline } = call;
    this.channel = `${keys.channel}:${id}`;
    this.since = since;
    this.who = clientName(where, label.slice(0, LONGEST_LABEL));
    this.tries = waitTime === 0;
    this.wait = this.tries || waitTime === Infinity ? options.fairLockWaitTimeout : whole(deadline - since);
    this.leaseTime = whole(leaseTime ?? options.lockWatchdogTimeout);
  }

  get waits(): boolean {
    return this.state.is === 'asking' || this.state.is === 'waiting';
  }

  /** Once it was in the queue, it is not rejected if it must enter again. */
  get maxQueue(): number {
    return this.state.is === 'asking' ? this.call.maxQueue : Infinity;
  }
}

/**
 * Redisson counts whole milliseconds, so a part of one is rounded up. Microseconds come first: the difference of two times may be too large in
 * its last binary digit.
 */
function whole(ms: number): number {
  return Math.min(Math.max(1, Math.ceil(Math.round(ms * 1_000) / 1_000)), LONGEST);
}

import type { Share } from '../../../core/port/lock-store.js';

/** The parts of a request's name in the queue. */
export interface RequestName {
  readonly sequence: number;
  /** ms of a fixed lease; undefined: the watchdog renews */
  readonly leaseTime: number | undefined;
  /** The request joins no batch, since its lock may be kept after its section has ended. */
  readonly alone: boolean;
  /** How the request shares the lock with others; undefined: it holds the lock alone. */
  readonly share?: Share | undefined;
}

export interface AcquireArgs extends RequestName {
  /** Ticket to take back; 0: it has none. */
  readonly ticket: number;
  /** The request is a try: it never waits in line. */
  readonly tries: boolean;
  readonly maxQueue: number;
  readonly label: string;
}

/** A grant that is over. */
export interface FinishedGrant {
  /** Token of the batch's first request; names the grant. */
  readonly first: number;
  /** Sequence of the batch's first request, for Redis to remember as done (M9); 0 if it had no turn. */
  readonly head: number;
  /** Sequences of the requests that had no turn, which go back to their places (M7). */
  readonly unserved: readonly number[];
  /** How long Redis may keep the grant, ms, if that differs from the usual lease. */
  readonly leaseTime: number | undefined;
  /** ms from the grant during which the lock is passed to no request; absent: it is passed on at once. */
  readonly keep?: number | undefined;
}

/** What a heartbeat renews. */
export interface Renewal extends Pick<RequestName, 'leaseTime'> {
  /** First token of the grant; 0 renews nothing, `shared` the shared holds of this client. */
  readonly first: number | 'shared';
  /** Sequence numbers of its requests. */
  readonly batch: readonly number[];
  readonly label: string;
  /** How many of them had their turn before the present holder. */
  readonly served: number;
}

/** Shared requests that are over. */
export interface FinishedShares {
  /** Without `share` if this client does not know the request. */
  readonly requests: readonly RequestName[];
  /** ms from the grant during which the weight is given to no request; absent: it is passed on at once. */
  readonly keep?: number | undefined;
}

export interface HeartbeatArgs {
  readonly renewal: Renewal;
  /** Present while this client waits; the longest and the shortest waiting of its requests that Redis must know. */
  readonly waiting:
    { readonly oldest: RequestName | undefined; readonly newest: RequestName | undefined } | undefined;
}

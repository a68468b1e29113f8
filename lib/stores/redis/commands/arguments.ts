import type { CommandConnection } from '../../redis-client/command-connection.js';
import type { Values } from '../../redis-client/script-commands.js';
import type { Subscriber } from '../../redis-client/subscriber.js';
import type { Timing } from '../timing.js';

/** What names a request in the queue. */
export interface RequestName {
  readonly sequence: number;
  /** ms of a fixed lease; undefined: the watchdog renews */
  readonly leaseTime: number | undefined;
}

export interface AcquireArgs extends RequestName {
  /** Ticket to take back; 0: it has none. */
  readonly ticket: number;
  /** It wants the lock now or not at all. */
  readonly tries: boolean;
  readonly maxQueue: number;
  readonly label: string;
}

/** A grant that is over. */
export interface FinishedGrant {
  /** Token of the run's first request; names the grant. */
  readonly first: number;
  /** Sequence of the run's first request, for Redis to remember as done (M9); 0 if it had no turn. */
  readonly head: number;
  /** Sequences of the requests that had no turn, which go back to their places (M7). */
  readonly unserved: readonly number[];
}

/** What a heartbeat renews. */
export interface Renewal extends Pick<RequestName, 'leaseTime'> {
  /** First token of the grant; 0 renews nothing. */
  readonly first: number;
  /** Sequence numbers of its requests. */
  readonly run: readonly number[];
  readonly label: string;
  /** How many of them had their turn before the present holder. */
  readonly served: number;
}

export interface HeartbeatArgs {
  readonly renewal: Renewal;
  /** What this client waits for: its request that waits longest and that Redis must know; absent: it does not wait. */
  readonly waiting: { readonly oldest: RequestName | undefined } | undefined;
  /** Asks the server to send this client a message. */
  readonly ping: boolean;
}

/**
 * What a client says of itself with every command: which server carries its subscription and for how long, its host and
 * process, and its times. These are the first values of every script (scripts/includes/lock.lua).
 */
export class ClientInfo {
  private readonly window: number;
  private readonly lease: number;
  private readonly rest: number;
  private readonly maxLease: number | '';

  constructor(
    readonly clientId: string,
    private readonly subscriber: Subscriber,
    private readonly connection: CommandConnection,
    { window, lease, rest }: Timing,
    /** host/pid, without white space */
    private readonly where: string,
    /** The longest lease of a strict client, ms; undefined: not strict. */
    maxLease: number | undefined,
  ) {
    this.window = Math.round(window);
    this.lease = Math.round(lease);
    this.rest = rest;
    this.maxLease = maxLease ?? '';
  }

  /** @param time now, on the monotonic clock */
  at(time: number): Values {
    const { upSince, serverRunId } = this.subscriber;
    // A subscription on another server than the one that commands go to proves nothing there (R6).
    const known =
      upSince !== undefined && serverRunId !== undefined && serverRunId === this.connection.serverRunId;
    const server = known ? serverRunId : '-';
    const subscribedFor = known ? Math.floor(time - upSince) : 0;
    const { clientId, where, window, lease, rest, maxLease } = this;
    return [clientId, server, subscribedFor, where, window, lease, rest, maxLease];
  }
}

/**
 * What each script gets after the values that all of them have (`ClientInfo`), as its header says: the only place that
 * knows the order.
 *
 * @param deadline in Redis ms (R2)
 * @param highestToken that this client has seen
 */
export function acquireArguments(args: AcquireArgs, deadline: number, highestToken: number): Values {
  const { sequence, leaseTime, ticket, tries, maxQueue, label } = args;
  const usual = [deadline, sequence, fixed(leaseTime), label, highestToken];
  // What is sent costs the server time, also when it says nothing new.
  if (maxQueue === Infinity && ticket === 0 && !tries) return usual;
  return [...usual, maxQueue === Infinity ? -1 : maxQueue, ticket, tries ? 'try' : 'wait'];
}

export function joinArguments(first: number, count: number, deadline: number, highestToken: number): Values {
  return [deadline, first, count, highestToken];
}

export function releaseArguments({ first, head, unserved }: FinishedGrant, markAlive: boolean): Values {
  return unserved.length === 0 && !markAlive
    ? [first, head]
    : [first, head, waits(markAlive), unserved.join(',')];
}

export function heartbeatArguments({ renewal, waiting, ping }: HeartbeatArgs, deadline: number): Values {
  const { first, leaseTime, label, served } = renewal;
  const oldest = waiting?.oldest;
  return [
    deadline,
    first,
    fixed(leaseTime),
    label,
    served,
    waits(waiting !== undefined),
    oldest?.sequence ?? '',
    fixed(oldest?.leaseTime),
    ping ? 'ping' : '',
  ];
}

export function leaveArguments({ sequence, leaseTime }: RequestName, markAlive: boolean): Values {
  return [sequence, fixed(leaseTime), waits(markAlive)];
}

/** A fixed lease in ms; empty where the lease is renewed. */
function fixed(leaseTime: number | undefined): number | '' {
  return leaseTime === undefined ? '' : Math.round(leaseTime);
}

/** Whether the client waits, or is to be marked alive as if it did (R5). */
function waits(waiting: boolean): string {
  return waiting ? 'waiting' : 'idle';
}

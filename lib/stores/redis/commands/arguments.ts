/** Digits of a token, which is a time in µs, where tokens are compared as text. */
const TOKEN_LENGTH = 16;

export type Values = (string | number)[];

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
 * What each script is told, as its header says: the only place that knows the order.
 *
 * @param deadline in Redis ms (R2)
 * @param highestToken that this client has seen
 * @param info what the client tells of itself
 */
export function acquireArguments(
  clientId: string,
  { sequence, leaseTime, ticket, tries, maxQueue, label }: AcquireArgs,
  deadline: number,
  { lease, retention }: { readonly lease: number; readonly retention: number },
  highestToken: number,
  info: string,
): Values {
  const seen = String(highestToken).padStart(TOKEN_LENGTH, '0');
  const fixed = leaseTime === undefined ? '-' : Math.round(leaseTime);
  const bound = maxQueue === Infinity ? -1 : maxQueue;
  return [
    `${clientId}:${sequence}`,
    deadline,
    `${lease} ${label}`,
    lease + retention,
    `${seen} ${fixed} ${ticket} ${tries ? 'try' : 'wait'} ${bound} ${info}`,
  ];
}

export function joinArguments(
  clientId: string,
  first: number,
  count: number,
  deadline: number,
  highestToken: number,
  info: string,
): Values {
  return [clientId, first, count, deadline, highestToken, info];
}

/** @param rest how long a lock that is free is remembered, ms */
export function releaseArguments(
  clientId: string,
  { first, head, unserved }: FinishedGrant,
  rest: number,
  markAlive: boolean,
  info: string,
): Values {
  const back = unserved.length > 0 ? `,${unserved.join(',')},` : '-';
  return [`${clientId}:${head}`, first, rest, `${back} ${mode(markAlive)} ${info}`];
}

/** @param lease of a grant that the watchdog renews, ms */
export function heartbeatArguments(
  clientId: string,
  { renewal, waiting, ping }: HeartbeatArgs,
  deadline: number,
  lease: number,
  info: string,
): Values {
  const { first, leaseTime, label, served } = renewal;
  return [
    clientId,
    deadline,
    first,
    leaseTime === undefined ? 'rolling' : 'fixed',
    Math.round(leaseTime ?? lease),
    label,
    mode(waiting !== undefined),
    waiting?.oldest?.sequence ?? '',
    waiting?.oldest ? memberOf(clientId, waiting.oldest) : '',
    ping ? 'ping' : '',
    info,
    served,
  ];
}

export function leaveArguments(
  clientId: string,
  request: RequestName,
  markAlive: boolean,
  info: string,
): Values {
  return [clientId, memberOf(clientId, request), mode(markAlive), info];
}

/** Whether the client waits, or is to be marked alive as if it did (R5). */
function mode(waiting: boolean): string {
  return waiting ? 'waiting' : 'idle';
}

/** How a request stands in the queue. */
function memberOf(clientId: string, { sequence, leaseTime }: RequestName): string {
  return `${clientId}:${sequence}${leaseTime === undefined ? '' : `:${Math.round(leaseTime)}`}`;
}

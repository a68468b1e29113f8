import type { ClusterOptions, RedisOptions } from 'ioredis';

/** How long connecting may take, and so may the first answer on a new connection, ms. */
export const CONNECT_TIMEOUT = 5_000;
/** How long a peer may take to close its side, ms. */
export const DISCONNECT_TIMEOUT = 50;
/** How long a sentinel, or a node that is asked for the slot map, may take to answer, ms. */
export const LOOK_UP_TIMEOUT = 1_000;
/** How often a command is led on to another node before it fails; the lock repeats it then, within its own deadlines. */
const MAX_REDIRECTIONS = 5;
/** Pause before ioredis repeats a command whose keys are on the way from one node to another, ms. */
const MOVING_PAUSE = 20;

/**
 * Options of every connection the lock makes: nothing is sent twice by the client library, nothing is kept for later,
 * each command is written as it comes and to a primary; deadlines, repeats and re-subscription are the lock's own.
 * These options must not depend on the client that the user brings.
 */
export const OWN_OPTIONS = {
  lazyConnect: true,
  enableAutoPipelining: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResubscribe: false,
  connectTimeout: CONNECT_TIMEOUT,
  disconnectTimeout: DISCONNECT_TIMEOUT,
  commandTimeout: undefined,
  socketTimeout: undefined,
  // ioredis would stay away for up to 10 s from a server that is loading its data.
  maxLoadingRetryTime: 100,
  retryStrategy: reconnectDelay,
  reconnectOnError: null,
  stringNumbers: false,
  readOnly: false,
  monitor: false,
  role: 'master',
  failoverDetector: true,
  sentinelRetryStrategy: reconnectDelay,
  sentinelCommandTimeout: LOOK_UP_TIMEOUT,
} satisfies RedisOptions;

/**
 * The same for a Cluster client. Redirections are left to ioredis: they mean that a command did not run. A broken
 * connection does not mean that, so nothing is repeated after one.
 */
export const OWN_CLUSTER_OPTIONS = {
  lazyConnect: true,
  enableAutoPipelining: false,
  enableOfflineQueue: false,
  scaleReads: 'master',
  shardedSubscribers: false,
  clusterRetryStrategy: reconnectDelay,
  clusterNodeRetryStrategy: null,
  maxRedirections: MAX_REDIRECTIONS,
  retryDelayOnMoved: 0,
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  retryDelayOnTryAgain: MOVING_PAUSE,
  slotsRefreshTimeout: LOOK_UP_TIMEOUT,
} satisfies ClusterOptions;

/** Reconnects at once, then after 50, 100, … 1,000 ms, with up to a fifth of jitter. */
export function reconnectDelay(attempt: number): number {
  if (attempt <= 1) return 0;
  const delay = Math.min(1_000, 25 * 2 ** Math.min(attempt - 1, 6));
  return Math.round(delay * (1 + Math.random() / 5));
}

import type { ClusterOptions, RedisOptions } from 'ioredis';

/** How long connecting may take, and so may the first response on a new connection, ms. */
export const CONNECT_TIMEOUT = 5_000;
/** How long a peer may take to close its side, ms. */
export const DISCONNECT_TIMEOUT = 50;
/** How long a sentinel, or a node that is asked for the slot map, may take to respond, ms. */
export const LOOK_UP_TIMEOUT = 1_000;
/**
 * After how long without traffic the kernel probes a connection, ms. A NAT or a balancer forgets idle ones after minutes, without a sign; the
 * default of the kernel is two hours.
 */
const KEEP_ALIVE = 30_000;
/** How often a command is redirected to another node before it fails; then the lock repeats it within its own deadlines. */
const MAX_REDIRECTIONS = 5;
/** Pause before ioredis repeats a command whose keys are being moved to another node, ms. */
const MOVING_PAUSE = 20;

/**
 * Options of every connection that the lock makes. ioredis must not repeat or queue commands; it writes each immediately, and to a primary.
 * The lock handles deadlines, repeats and re-subscription itself. These options must not depend on the user's client.
 */
export const OWN_OPTIONS = {
  lazyConnect: true,
  enableAutoPipelining: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResubscribe: false,
  connectTimeout: CONNECT_TIMEOUT,
  disconnectTimeout: DISCONNECT_TIMEOUT,
  keepAlive: KEEP_ALIVE,
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
  failoverDetector: false,
  sentinelRetryStrategy: reconnectDelay,
  sentinelCommandTimeout: LOOK_UP_TIMEOUT,
} satisfies RedisOptions;

/**
 * The same for a Cluster client. ioredis follows redirections, because a redirected command did not run. After a broken connection
 * a command may have run, so ioredis does not repeat it.
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

/** Reconnects after 25, 50, 100, … 1,000 ms, with up to a fifth of jitter. */
export function reconnectDelay(attempt: number): number {
  const delay = Math.min(1_000, 25 * 2 ** Math.min(attempt - 1, 6));
  return Math.round(delay * (1 + Math.random() / 5));
}

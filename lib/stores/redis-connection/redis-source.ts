import { Redis, type Cluster, type RedisOptions } from 'ioredis';

/** What a connection is for. The native and the redisson store use commands and subscriber. */
export type RedisRole = 'commands' | 'subscriber' | 'replication';

/**
 * Where Redis is: a URL, ioredis options, an existing client (never quit, never reconfigured: the lock makes its own
 * connections from it), or a function that makes a new client for a role, for credentials that rotate.
 */
export type RedisSource = string | RedisOptions | Redis | Cluster | ((role: RedisRole) => Redis | Cluster);

/** A connection that belongs to the lock. */
export interface RedisConnection {
  readonly client: Redis | Cluster;
  /** The user's ioredis key prefix: ioredis puts it before keys by itself, but not before channels. */
  readonly keyPrefix: string;
}

/**
 * Options of every connection the lock makes: nothing is sent twice by the client library, nothing is kept for later,
 * each command is written as it comes; deadlines, repeats and re-subscription are the lock's own.
 */
const OWN_OPTIONS = {
  lazyConnect: true,
  enableAutoPipelining: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResubscribe: false,
  connectTimeout: 5_000,
  disconnectTimeout: 200,
  // ioredis would stay away for up to 10 s from a server that is loading its data.
  maxLoadingRetryTime: 100,
  retryStrategy: reconnectDelay,
} satisfies RedisOptions;

/** Reconnects at once, then after 50, 100, … 1,000 ms, with up to a fifth of jitter. */
function reconnectDelay(attempt: number): number {
  if (attempt <= 1) return 0;
  const delay = Math.min(1_000, 25 * 2 ** Math.min(attempt - 1, 6));
  return Math.round(delay * (1 + Math.random() / 5));
}

/**
 * Makes a connection of the lock's own for `role`. It is not yet connected.
 *
 * @param shardedChannels whether a Cluster client must be able to listen to sharded channels
 */
export function openConnection(
  source: RedisSource,
  role: RedisRole,
  shardedChannels = false,
): RedisConnection {
  const client = makeClient(source, role, shardedChannels);
  // Without a listener, ioredis prints every connection error; what matters is told by the commands that fail.
  client.on('error', () => undefined);
  return { client, keyPrefix: keyPrefixOf(client) };
}

function makeClient(source: RedisSource, role: RedisRole, shardedChannels: boolean): Redis | Cluster {
  if (typeof source === 'string') return new Redis(source, OWN_OPTIONS);
  if (typeof source === 'function') return source(role);
  if (isCluster(source)) return duplicateCluster(source, shardedChannels);
  if (isRedis(source)) return source.duplicate(OWN_OPTIONS);
  return new Redis({ ...source, ...OWN_OPTIONS } as RedisOptions & { replyMapping: 'legacy' });
}

function duplicateCluster(source: Cluster, shardedChannels: boolean): Cluster {
  const options = {
    ...source.options,
    lazyConnect: true,
    enableOfflineQueue: false,
    enableAutoPipelining: false,
    ...(shardedChannels && { shardedSubscribers: true }),
    redisOptions: {
      ...source.options.redisOptions,
      maxRetriesPerRequest: 0,
      autoResubscribe: false,
      maxLoadingRetryTime: 100,
    },
  };
  return source.duplicate(undefined, options as Parameters<Cluster['duplicate']>[1]);
}

/** By behaviour, not by class: the user's ioredis may be another copy of the package. */
function isRedis(source: Redis | RedisOptions): source is Redis {
  return 'duplicate' in source && typeof source.duplicate === 'function';
}

function isCluster(source: Redis | Cluster | RedisOptions): source is Cluster {
  return 'isCluster' in source && source.isCluster;
}

function keyPrefixOf(client: Redis | Cluster): string {
  const { options } = client;
  const ofNodes = 'redisOptions' in options ? options.redisOptions?.keyPrefix : undefined;
  return options.keyPrefix ?? ofNodes ?? '';
}

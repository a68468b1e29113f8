import { Redis, type Cluster, type RedisOptions } from 'ioredis';
import { LockConfigurationError } from '../../../core/errors/errors.js';
import { AnyNode } from './any-node.js';
import { CONNECT_TIMEOUT, OWN_CLUSTER_OPTIONS, OWN_OPTIONS } from './own-options.js';
import { refusedCredentials } from '../server/server-failure.js';
import { SentinelWatch } from './sentinel-watch.js';

/** Least time between two questions for new credentials, ms. */
const CREDENTIALS_PAUSE = 1_000;

/** What a connection is for. The native and the redisson store use commands and subscriber. */
export type RedisRole = 'commands' | 'subscriber' | 'replication';

/**
 * Where Redis is: a URL, ioredis options, an existing client (never quit, never reconfigured: the lock makes its own
 * connections from it), or a function that makes a new client for a role, for credentials that rotate: it is asked again when the server
 * rejects them.
 */
export type RedisSource = string | RedisOptions | Redis | Cluster | ((role: RedisRole) => Redis | Cluster);

/** A connection that belongs to the lock. */
export interface RedisConnection {
  readonly client: Redis | Cluster;
  /** The user's ioredis key prefix: ioredis puts it before keys, but not before channels. */
  readonly keyPrefix: string;
  readonly sentinels?: SentinelWatch;
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
  // Without a listener, ioredis prints every connection error; commands that fail report what matters.
  client.on('error', () => undefined);
  if (client.isCluster) {
    client.on('+node', (node: Redis) => {
      limitHandshake(node);
      handleAsking(node);
    });
    return { client, keyPrefix: keyPrefixOf(client) };
  }
  limitHandshake(client as Redis);
  if (typeof source === 'function') renewCredentials(client as Redis, () => source(role));
  const behindSentinels = (client as Redis).options.sentinels;
  const sentinels = behindSentinels && new SentinelWatch(client as Redis);
  return { client, keyPrefix: keyPrefixOf(client), ...(sentinels && { sentinels }) };
}

/**
 * Reconnects a connection that is not ready within `limit` ms. The kernel of a frozen server still accepts connections, and ioredis limits
 * only the time until then: it would wait forever for the response, instead of looking for the new primary
 * (https://github.com/redis/ioredis/issues/1314 is the same of a connection that was ready before).
 */
export function limitHandshake(client: Redis, limit = CONNECT_TIMEOUT): void {
  let timer: NodeJS.Timeout | undefined;
  client.on('connect', () => {
    timer = setTimeout(() => client.disconnect(true), limit).unref();
  });
  for (const event of ['ready', 'close']) client.on(event, () => clearTimeout(timer));
}

/**
 * Asks the user's function again when the server rejects the credentials, at most once a second: they may have been rotated. ioredis reads user
 * and password from the options at each attempt to connect.
 */
function renewCredentials(client: Redis, ask: () => Redis | Cluster): void {
  let askedAt = -Infinity;
  client.on('error', (error: unknown) => {
    if (!refusedCredentials(error) || performance.now() - askedAt < CREDENTIALS_PAUSE) return;
    askedAt = performance.now();
    try {
      const fresh = ask();
      if (fresh.isCluster || made.has(fresh)) return;
      const { username, password } = (fresh as Redis).options;
      Object.assign(client.options, { username, password });
      fresh.on('error', () => undefined);
      fresh.disconnect();
    } catch {
      // The client goes on with the credentials that it has.
    }
  });
}

/**
 * While a slot moves, ioredis sends ASKING before a command and handles no failure of it: a right that is missing, or a node that dies
 * then, would end the process. The command that follows fails anyway.
 */
function handleAsking(node: Redis): void {
  const asking = node.asking.bind(node);
  node.asking = () => {
    const asked = asking();
    asked.catch(() => undefined);
    return asked;
  };
}

/** Makes a connection for listening to classic channels. It is not yet connected. */
export function openSubscription(source: RedisSource): Redis | Cluster {
  const { client } = openConnection(source, 'subscriber');
  if (!client.isCluster) return client;
  const node = new AnyNode(client as Cluster);
  node.on('error', () => undefined);
  limitHandshake(node);
  return node;
}

function makeClient(source: RedisSource, role: RedisRole, shardedChannels: boolean): Redis | Cluster {
  if (typeof source === 'string') return new Redis(source, OWN_OPTIONS);
  if (typeof source === 'function') return newClient(source(role), role);
  if (isCluster(source)) return duplicateCluster(source, shardedChannels);
  if (isRedis(source)) return source.duplicate(OWN_OPTIONS);
  return new Redis({ ...source, ...OWN_OPTIONS } as RedisOptions & { replyMapping: 'legacy' });
}

/** All clients that the user's functions have made. A function must not return the same client twice. */
const made = new WeakSet<object>();

/** @throws LockConfigurationError if the user's function returned something other than a new client */
function newClient(client: Redis | Cluster | null | undefined, role: RedisRole): Redis | Cluster {
  const isClient = typeof client?.on === 'function' && 'status' in client;
  if (isClient && !made.has(client)) {
    made.add(client);
    if (client.isCluster) return client;
    // The lock subscribes again itself. If an attempt of ioredis were rejected, its unhandled rejection would end the process. And it
    // listens to the sentinels itself (`SentinelWatch`).
    const listening = { autoResubscribe: false, failoverDetector: false };
    // ioredis would send on the next connection what was not answered or could not be sent, whether it is still to be said or not; there a
    // WAIT proves nothing.
    const sending = { maxRetriesPerRequest: 0, enableOfflineQueue: false };
    Object.assign(client.options, listening, sending);
    return client;
  }
  throw new LockConfigurationError(
    'The function in the option redis must return a new Redis or Cluster of ioredis at each call; ' +
      `for the role '${role}' it returned ` +
      (isClient ? 'one that it had returned before.' : 'something else (a Promise, if it is async).'),
  );
}

function duplicateCluster(source: Cluster, shardedChannels: boolean): Cluster {
  const options = {
    ...source.options,
    ...OWN_CLUSTER_OPTIONS,
    shardedSubscribers: shardedChannels,
    redisOptions: { ...source.options.redisOptions, ...OWN_OPTIONS },
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

import { Redis, type Cluster, type RedisOptions } from 'ioredis';
import { LockConfigurationError } from '../../../core/errors/errors.js';
import { AnyNode } from './any-node.js';
import { limitHandshake, watchFailovers } from './frozen-servers.js';
import { CONNECT_TIMEOUT, GrowingPauses, OWN_CLUSTER_OPTIONS, OWN_OPTIONS } from './own-options.js';
import { PrimaryConnector } from './primary-connector.js';
import { SharedWrites, SocketConnector } from './socket-connector.js';
import type { SubscriberClient } from './subscriber.js';

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
  /** Lets several commands share a write. */
  readonly writes: SharedWrites;
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
  const writes = new SharedWrites();
  const pauses = new GrowingPauses();
  const client = makeClient(source, role, shardedChannels, writes, pauses);
  client.on('ready', pauses.ready);
  // Without a listener, ioredis prints every connection error; commands that fail report what matters.
  client.on('error', () => undefined);
  if (client.isCluster) {
    client.on('+node', (node: Redis) => {
      limitHandshake(node, CONNECT_TIMEOUT);
      handleAsking(node);
    });
  } else {
    limitHandshake(client as Redis, CONNECT_TIMEOUT);
    watchFailovers(client as Redis);
  }
  return { client, keyPrefix: keyPrefixOf(client), writes };
}

/**
 * While a slot moves, ioredis sends ASKING before a command and handles no failure of it: a right that is missing, or a node that dies
 * then, would end the process. The command that follows fails by itself.
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
export function openSubscription(source: RedisSource): SubscriberClient {
  const { client } = openConnection(source, 'subscriber');
  return client.isCluster ? new AnyNode(client as Cluster) : client;
}

function makeClient(
  source: RedisSource,
  role: RedisRole,
  shardedChannels: boolean,
  writes: SharedWrites,
  pauses: GrowingPauses,
): Redis | Cluster {
  if (typeof source === 'string') return new Redis(source, ownOptions({}, writes, pauses));
  if (typeof source === 'function') return newClient(source(role), role);
  if (isCluster(source)) return duplicateCluster(source, shardedChannels);
  if (isRedis(source)) return source.duplicate(ownOptions(source.options, writes, pauses));
  return new Redis({ ...source, ...ownOptions(source, writes, pauses) } as RedisOptions & {
    replyMapping: 'legacy';
  });
}

/** All clients that the user's functions have made. A function must not return the same client twice. */
const made = new WeakSet<object>();

/** @throws LockConfigurationError if the user's function returned something other than a new client */
function newClient(client: Redis | Cluster | null | undefined, role: RedisRole): Redis | Cluster {
  const isClient = typeof client?.on === 'function' && 'status' in client;
  if (isClient && !made.has(client)) {
    made.add(client);
    // The lock subscribes again itself. If an attempt of ioredis were refused, its unhandled rejection would end the process.
    if (!client.isCluster) (client as Redis).options.autoResubscribe = false;
    return client;
  }
  throw new LockConfigurationError(
    'The function that the option redis gives must return a new Redis or Cluster of ioredis at each call; ' +
      `for the role '${role}' it returned ` +
      (isClient ? 'one that it had returned before.' : 'something else (a Promise, if it is async).'),
  );
}

/** Adds the lock's own connector (direct, or by sentinels), unless the user's options have one. */
function ownOptions(
  { sentinels, Connector }: RedisOptions,
  writes: SharedWrites,
  pauses: GrowingPauses,
): typeof OWN_OPTIONS & Pick<RedisOptions, 'Connector'> {
  const Own = sentinels ? PrimaryConnector : SocketConnector;
  return {
    ...OWN_OPTIONS,
    retryStrategy: pauses.next,
    Connector: Connector ?? Own.bind(undefined, writes),
  };
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

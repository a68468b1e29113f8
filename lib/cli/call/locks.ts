import { Cluster, Redis } from 'ioredis';
import { LockEngine } from '../../core/engine/lock-engine.js';
import { type LockOverview } from '../../core/query/lock-overview.js';
import { type LockStore, type StoreHealth } from '../../core/port/lock-store.js';
import { createStore } from '../../setup/store-factory.js';
import { resolveOptions } from '../../setup/option-resolution.js';
import { type Arguments } from './arguments.js';
import { UsageError } from './exit-status.js';

/** Gives the commands access to the locks of all processes. This process holds none itself. */
export class Locks {
  /** What an operator should know of Redis, found while connecting. Sentences without credentials. */
  readonly warnings: string[] = [];
  private readonly store: LockStore;
  private readonly engine: LockEngine;
  private readonly address: string;

  /** @throws LockConfigurationError for a URL or prefix that cannot work */
  constructor({ redis, cluster, prefix, store }: Arguments) {
    const options = resolveOptions({ redis, store, keyPrefix: prefix });
    this.address = options.redis as string;
    const source = cluster ? clusterAt(options.redis as string) : options.redis;
    const onWarning = (message: string) => void this.warnings.push(message);
    this.store = createStore({ ...options, redis: source }, onWarning);
    this.engine = new LockEngine(this.store, {
      ...options,
      slowWait: Infinity,
      slowHold: Infinity,
      onWarning,
    });
  }

  start(): Promise<void> {
    return this.engine.start();
  }

  close(): Promise<void> {
    return this.engine.close();
  }

  /** @param orphans whether to look through Redis for locks of dead processes */
  async query({ timeout }: Arguments, orphans = false): Promise<LockOverview> {
    const overview = await this.engine.service.query({ timeout, orphans });
    const self = this.store.peers?.self.clientId;
    return { ...overview, processes: overview.processes.filter(({ clientId }) => clientId !== self) };
  }

  /** The prefixes under which processes listen that are connected to this server, without this process. Never rejects. */
  async livePrefixes(): Promise<string[]> {
    const client = new Redis(this.address, { lazyConnect: true, retryStrategy: () => null });
    client.on('error', () => undefined); // there is none to name then
    try {
      await client.connect();
      const channels = (await client.pubsub('CHANNELS', '*:client:*')) as string[];
      const self = this.store.peers?.self.clientId ?? '';
      const others = channels.filter((channel) => !channel.endsWith(self));
      return [
        ...new Set(others.flatMap((each) => /^(.+):client:[0-9a-f]{32}$/.exec(each)?.[1] ?? [])),
      ].sort();
    } catch {
      return [];
    } finally {
      client.disconnect();
    }
  }

  health(): Promise<StoreHealth> {
    return this.engine.service.health();
  }

  inspect(key: string) {
    return this.engine.service.inspect(key);
  }

  forceRelease(key: string, named: { token: number } | { holder: string }): Promise<boolean> {
    return this.engine.service.forceRelease(key, named);
  }
}

function clusterAt(address: string): Cluster {
  if (address.startsWith('/'))
    throw new UsageError(
      '--cluster needs the redis:// or rediss:// URL of a node: Redis Cluster has no Unix socket.',
    );
  const { node, redisOptions } = clusterNode(address);
  return new Cluster([node], { lazyConnect: true, redisOptions });
}

/** Converts the URL of a Cluster node to options of ioredis. */
export function clusterNode(address: string) {
  const { hostname, port, username, password, protocol } = new URL(address);
  return {
    // A URL has brackets around an IPv6 address, but a socket address has none.
    node: { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6_379) },
    redisOptions: {
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: {} }),
    },
  };
}

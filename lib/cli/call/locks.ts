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
  /** The channel of all processes that this one shows; undefined for a store without prefixes, and on Redis Cluster, where each node knows some. */
  private readonly place: string | undefined;

  /** @throws LockConfigurationError for a URL or prefix that cannot work */
  constructor({ redis, cluster, prefix, store }: Arguments) {
    const options = resolveOptions({ redis, store, keyPrefix: prefix });
    this.address = options.redis as string;
    this.place =
      store === 'redis' && !cluster ? `${options.keyPrefix}:client:db${databaseIn(this.address)}` : undefined;
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

  /** @param all whether to look through Redis for locks that no process reports */
  async query({ timeout, orphans }: Arguments, all: boolean): Promise<LockOverview> {
    const { locks, processes, ...rest } = await this.engine.service.query({ timeout, orphans: all });
    const self = this.store.peers?.self.clientId;
    return {
      locks: orphans ? locks.filter(({ orphan }) => orphan) : locks,
      processes: processes.filter(({ clientId }) => clientId !== self),
      ...rest,
    };
  }

  /** Whether any other process listens under this prefix, in this database. True if that cannot be found out. */
  async isUsed(): Promise<boolean> {
    const places = await this.usedPlaces();
    return this.place === undefined || places === undefined || places.includes(this.place);
  }

  /** A sentence for someone who looks where no process is: where there are some. */
  async unused(): Promise<string> {
    const places = (await this.usedPlaces()) ?? [];
    const shown = places.map((place) => place.replace(/:client:db(\d+)$/, ' (database $1)'));
    return (
      'No process is using these locks. --prefix, --store and --cluster select which locks.' +
      (shown.length === 0
        ? ''
        : ` Processes use these prefixes here: ${shown.join(', ')}. Name one by --prefix or FAIR_LOCK_PREFIX, and a database by the URL.`)
    );
  }

  /** The channels that all processes of a prefix and a database share, of those that others than this process listen to; undefined: unknown. */
  private async usedPlaces(): Promise<string[] | undefined> {
    const client = new Redis(this.address, { lazyConnect: true, retryStrategy: () => null });
    client.on('error', () => undefined); // there is none to name then
    try {
      await client.connect();
      const channels = (await client.pubsub('CHANNELS', '*:client:db*')) as string[];
      const known = channels.filter((channel) => /:client:db\d+$/.test(channel)).sort();
      const counts = (await client.pubsub('NUMSUB', ...known)) as (string | number)[];
      return known.filter((channel, i) => Number(counts[2 * i + 1]) > (channel === this.place ? 1 : 0));
    } catch {
      return undefined;
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

/** As ioredis reads it. */
function databaseIn(address: string): number {
  return new Redis(address, { lazyConnect: true }).options.db ?? 0;
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

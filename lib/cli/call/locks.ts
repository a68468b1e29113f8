import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { LockEngine } from '../../core/engine/lock-engine.js';
import { type LockOverview } from '../../core/query/lock-overview.js';
import { engineOptions } from '../../setup/engine-options.js';
import { createStore } from '../../setup/store-factory.js';
import { resolveOptions } from '../../setup/option-resolution.js';
import { type Arguments } from './arguments.js';
import { UsageError } from './exit-status.js';

/** From when on a search through Redis is worth a word, ms after the processes have had their time. */
const SLOW_SEARCH = 500;
const SEARCHING =
  'Searching all keys of Redis for locks, which takes 1 to 3 s for each million keys. Other commands are served meanwhile.';

/** Gives the commands access to the locks of all processes. This process holds none itself. */
export class Locks {
  /** What an operator should know of Redis, found while connecting. Sentences without credentials. */
  readonly warnings: string[] = [];
  readonly engine: LockEngine;
  private readonly address: string;
  /** The channel of all processes that this one shows; undefined for a store without prefixes, and on Redis Cluster, where each node knows some. */
  private readonly place: string | undefined;

  /**
   * @param say tells someone who waits what takes so long
   * @throws LockConfigurationError for a URL or prefix that cannot work
   */
  constructor(
    { redis, cluster, prefix, store }: Arguments,
    private readonly say: (text: string) => void,
  ) {
    const options = resolveOptions({ redis, store, keyPrefix: prefix });
    this.address = options.redis as string;
    this.place =
      store === 'redis' && !cluster
        ? `${options.keyPrefix}:client:db${read(this.address).db ?? 0}`
        : undefined;
    const source = cluster ? clusterAt(this.address) : this.address;
    const onWarning = (message: string) => void this.warnings.push(message);
    const lockStore = createStore({ ...options, redis: source }, onWarning);
    this.engine = new LockEngine(lockStore, engineOptions(options, onWarning));
  }

  /** Where Redis is, without credentials: `cache:6379`. */
  get server(): string {
    const { path, host, port } = read(this.address);
    return path ?? `${host}:${port}`;
  }

  /** @param all whether to look through Redis for locks that no process reports. Not where `key` selects one lock. */
  async query({ key, timeout, orphans }: Arguments, all: boolean): Promise<LockOverview> {
    const { service, store } = this.engine;
    const slow = all && setTimeout(this.say, timeout + SLOW_SEARCH, SEARCHING);
    const looked = service.query({ timeout, orphans: all, ...(key !== '' && { key }) });
    const { locks, processes, ...rest } = await looked.finally(() => slow && clearTimeout(slow));
    const self = store.peers?.self.clientId;
    return {
      locks: orphans ? locks.filter(({ orphan }) => orphan) : locks,
      processes: processes.filter(({ clientId }) => clientId !== self),
      ...rest,
    };
  }

  /** `message`, unless it is known that no other process listens under this prefix, in this database: then `unused`. */
  async orUnused(message: string): Promise<string> {
    const places = await this.usedPlaces();
    const isUnused = this.place !== undefined && places?.includes(this.place) === false;
    return isUnused ? this.unused(places) : message;
  }

  /** A sentence for someone who looks where no process is: where there are some. */
  async unused(known?: readonly string[]): Promise<string> {
    const places = known ?? (await this.usedPlaces()) ?? [];
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
}

function clusterAt(address: string): Cluster {
  if (address.startsWith('/'))
    throw new UsageError(
      '--cluster needs the redis:// or rediss:// URL of a node: Redis Cluster has no Unix socket.',
    );
  const { host, port, username, password, tls } = read(address);
  return new Cluster([{ host, port }], { lazyConnect: true, redisOptions: { username, password, tls } });
}

/** As ioredis reads it. */
function read(address: string): RedisOptions {
  return new Redis(address, { lazyConnect: true }).options;
}

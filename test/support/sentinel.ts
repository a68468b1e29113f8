import { Redis } from 'ioredis';
import { startRedisServer, type RedisServer } from './redis.js';
import { eventually } from './waiting.js';

const HOST = '127.0.0.1';
const NAME = 'lock-primary';
const SENTINELS = 3;
const QUORUM = 2;
/** How long the primary may be silent before a sentinel takes it for down, ms. */
export const DOWN_AFTER = 1_000;
/**
 * From the primary's silence to another one, ms: down after, a second until the sentinels have agreed, up to a second
 * until one of them leads, a second until the replica has said that it is promoted.
 */
export const FAILOVER = DOWN_AFTER + 3_000;
const MEETING = 30_000;

/** One of the servers that the sentinels watch. */
export interface Instance {
  readonly server: RedisServer;
  readonly admin: Redis;
}

/** A primary, its replicas, and three sentinels, on loopback and free ports. */
export class SentinelSetup {
  private constructor(
    readonly instances: readonly Instance[],
    readonly sentinels: readonly RedisServer[],
    private readonly watch: Redis,
    private readonly password: string | undefined,
  ) {}

  /** @param password that the sentinels ask for, also of each other */
  static async start(replicas = 2, password?: string): Promise<SentinelSetup> {
    const primary = await startInstance();
    const followers = await Promise.all(
      Array.from({ length: replicas }, () => startInstance(primary.server.port)),
    );
    const sentinels = await Promise.all(
      Array.from({ length: SENTINELS }, () => startSentinel(primary.server.port, password)),
    );
    const setup = new SentinelSetup(
      [primary, ...followers],
      sentinels,
      adminOf(sentinels[0]!, password),
      password,
    );
    await setup.watch.connect();
    await setup.whole();
    return setup;
  }

  /** For a client. */
  get options(): { name: string; sentinels: { host: string; port: number }[] } {
    return { name: NAME, sentinels: this.sentinels.map(({ port }) => ({ host: HOST, port })) };
  }

  /** Says the same to each of the sentinels. */
  async tellSentinels(...command: [string, ...string[]]): Promise<unknown[]> {
    return await Promise.all(
      this.sentinels.map(async (sentinel) => {
        const admin = adminOf(sentinel, this.password);
        await admin.connect();
        return await admin.call(...command).finally(() => admin.disconnect());
      }),
    );
  }

  /** Whom the sentinels name. */
  async primary(): Promise<Instance> {
    const [, port] = (await this.watch.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)) as [string, string];
    const found = this.instances.find(({ server }) => server.port === Number(port));
    if (!found) throw new Error(`The sentinels name a stranger at port ${port}.`);
    return found;
  }

  /** Asks the sentinels to promote a replica although nothing is wrong. */
  async failover(): Promise<void> {
    await this.watch.call('SENTINEL', 'FAILOVER', NAME);
  }

  /** Resolves when the sentinels name another one than `former`, and that one is a primary. */
  async promoted(former: Instance): Promise<Instance> {
    let now = former;
    const done = async (): Promise<boolean> => {
      now = await this.primary();
      return now !== former && (await now.admin.role())[0] === 'master';
    };
    await eventually(done, MEETING, 'a failover');
    return now;
  }

  /** Resolves when all servers run, follow the primary, and are known to the sentinels. */
  async whole(): Promise<void> {
    const isWhole = async (): Promise<boolean> => {
      const primary = await this.primary();
      const roles = await Promise.all(this.instances.map(({ admin }) => admin.role().catch(() => [])));
      const following = roles.filter((role) => role[0] === 'slave' && role[3] === 'connected').length;
      if (following !== this.instances.length - 1) return false;
      const [known, others] = await Promise.all([this.flagsOf('REPLICAS'), this.flagsOf('SENTINELS')]);
      const well = known.filter((flags) => flags === 'slave').length === this.instances.length - 1;
      return well && others.length === SENTINELS - 1 && (await this.idle(primary));
    };
    await eventually(isWhole, MEETING, 'the primary, its replicas and the sentinels to be in order');
  }

  /** From now on no replica receives anything of its primary; the result lets them again. */
  async cutReplicas(): Promise<() => Promise<void>> {
    const roles = await Promise.all(this.instances.map(({ admin }) => admin.role()));
    const replicas = this.instances.filter((_, i) => roles[i]?.[0] === 'slave');
    const login = (password: string): Promise<unknown> =>
      Promise.all(replicas.map(({ admin }) => admin.config('SET', 'masterauth', password)));
    // A password that the primary does not ask for: it refuses them.
    await login('wrong');
    await Promise.all(replicas.map(({ admin }) => admin.call('CLIENT', 'KILL', 'TYPE', 'master')));
    return async () => void (await login(''));
  }

  /** Servers that were killed or frozen are back. */
  async heal(): Promise<void> {
    for (const { server } of this.instances) {
      await server.kill('SIGCONT');
      if (server.process.exitCode !== null || server.process.signalCode !== null) await server.restart();
    }
  }

  async stop(): Promise<void> {
    for (const { admin } of this.instances) admin.disconnect();
    this.watch.disconnect();
    const servers = [...this.sentinels, ...this.instances.map(({ server }) => server)];
    await Promise.all(servers.map((server) => server.kill('SIGCONT')));
    await Promise.all(servers.map((server) => server.stop()));
  }

  private async flagsOf(who: 'REPLICAS' | 'SENTINELS'): Promise<string[]> {
    const entries = (await this.watch.call('SENTINEL', who, NAME)) as string[][];
    return entries.map((entry) => entry[entry.indexOf('flags') + 1] ?? '');
  }

  /** No failover is under way. */
  private async idle({ server }: Instance): Promise<boolean> {
    const entry = (await this.watch.call('SENTINEL', 'MASTER', NAME)) as string[];
    return (
      entry[entry.indexOf('flags') + 1] === 'master' &&
      entry[entry.indexOf('port') + 1] === String(server.port)
    );
  }
}

async function startInstance(of?: number): Promise<Instance> {
  const server = await startRedisServer({
    config: {
      'repl-diskless-sync-delay': 0,
      'repl-ping-replica-period': 1,
      ...(of !== undefined && { replicaof: `${HOST} ${of}` }),
    },
  });
  const admin = adminOf(server);
  await admin.connect();
  return { server, admin };
}

function startSentinel(port: number, password?: string): Promise<RedisServer> {
  return startRedisServer({
    args: ['--sentinel'],
    config: {
      ...(password !== undefined && { requirepass: password }),
      sentinel: [
        `monitor ${NAME} ${HOST} ${port} ${QUORUM}`,
        `down-after-milliseconds ${NAME} ${DOWN_AFTER}`,
        // Twice this long no second failover is tried, and that is how long a test would wait.
        `failover-timeout ${NAME} 3000`,
        `parallel-syncs ${NAME} 2`,
      ],
    },
  });
}

function adminOf({ url }: RedisServer, password?: string): Redis {
  const admin = new Redis(url, {
    ...(password !== undefined && { password }),
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    retryStrategy: () => 50,
    lazyConnect: true,
    enableReadyCheck: false,
    disconnectTimeout: 50, // ioredis waits for so long also for what has been closed
  });
  admin.on('error', () => undefined); // servers are killed on purpose
  return admin;
}

import { Redis } from 'ioredis';
import { startRedisServer, type RedisServer } from './redis.js';
import { eventually } from './waiting.js';

/** How long a replica may take to copy an empty primary on a busy machine, ms. */
const SYNC = 20_000;
/** Written and read back to know that a replica follows. */
const PROBE = 'replicas-probe';

/** A primary with replicas, and clients that can be led to another of them. */
export class Replicas {
  private readonly clients: Redis[] = [];
  private readonly admins = new Map<RedisServer, Redis>();
  private leader: RedisServer;

  private constructor(
    readonly primary: RedisServer,
    readonly replicas: readonly RedisServer[],
  ) {
    this.leader = primary;
  }

  /** Resolves when all replicas follow. */
  static async start(many: number): Promise<Replicas> {
    // Replicas get the data at once instead of after the usual 5 s.
    const config = { 'repl-diskless-sync': 'yes', 'repl-diskless-sync-delay': 0 };
    const primary = await startRedisServer({ config });
    const replicas = await Promise.all(
      Array.from({ length: many }, () =>
        startRedisServer({ config: { ...config, replicaof: `127.0.0.1 ${primary.port}` } }),
      ),
    );
    const all = new Replicas(primary, replicas);
    await all.followed(many);
    return all;
  }

  /** Resolves when so many replicas have all that the primary has. */
  async followed(many: number): Promise<void> {
    const admin = this.admin(this.leader);
    await eventually(
      async () => {
        await admin.set(PROBE, '1', 'PX', 60_000);
        return (await admin.wait(many, 100)) >= many;
      },
      SYNC,
      `${many} replicas that follow`,
    );
  }

  /** For asking and telling one server; not for locks. */
  admin(server: RedisServer): Redis {
    let admin = this.admins.get(server);
    if (!admin) {
      admin = new Redis(server.url, { maxRetriesPerRequest: null });
      admin.on('error', () => undefined);
      this.admins.set(server, admin);
    }
    return admin;
  }

  /** Makes connections to the leader, which follow it to the next (`lead`). */
  readonly source = (): Redis => {
    const client = new Redis({
      ...address(this.leader),
      lazyConnect: true,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResubscribe: false,
      retryStrategy: () => 20,
    });
    this.clients.push(client);
    return client;
  };

  /** Makes a replica a primary of its own; no connection is led to it yet. */
  async promote(server: RedisServer): Promise<void> {
    await this.admin(server).replicaof('NO', 'ONE');
  }

  /** Makes a server a replica of another one; resolves when it has the data of that. */
  async follow(server: RedisServer, primary: RedisServer): Promise<void> {
    await this.admin(server).replicaof('127.0.0.1', primary.port);
    await eventually(
      async () => /master_link_status:up/.test(await this.admin(server).info('replication')),
      SYNC,
      'a replica that follows',
    );
  }

  /** All clients of `source` go to `server` from now on. */
  lead(server: RedisServer): void {
    this.leader = server;
    for (const client of this.clients) {
      Object.assign(client.options, address(server));
      if (client.status !== 'end' && client.status !== 'wait') client.disconnect(true);
    }
  }

  /** How often a command ran on a server since `resetCounts`. */
  async calls(server: RedisServer, command: string): Promise<number> {
    const stats = await this.admin(server).info('commandstats');
    return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  }

  async resetCounts(server: RedisServer): Promise<void> {
    await this.admin(server).config('RESETSTAT');
  }

  /** Stands still; `SIGCONT` by `thaw`. */
  async freeze(...servers: readonly RedisServer[]): Promise<void> {
    await Promise.all(servers.map((server) => server.kill('SIGSTOP')));
  }

  async thaw(...servers: readonly RedisServer[]): Promise<void> {
    await Promise.all(servers.map((server) => server.kill('SIGCONT')));
  }

  async close(): Promise<void> {
    for (const admin of this.admins.values()) admin.disconnect();
    for (const client of this.clients) if (client.status !== 'end') client.disconnect();
    await Promise.all([this.primary, ...this.replicas].map((server) => server.stop()));
  }
}

function address({ port }: RedisServer): { host: string; port: number } {
  return { host: '127.0.0.1', port };
}

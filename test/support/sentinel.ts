import { type Redis } from 'ioredis';
import {
  adminOf,
  caughtUp,
  clientChannels,
  revive,
  startRedisServer,
  stopAll,
  type RedisServer,
} from './redis.js';
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
/** Sentinels make a former primary a replica after ten seconds or two, and later on a busy machine, ms. */
const MEETING = 60_000;
/** A failover by order that has not come by then was given up, for example because the replica was slow to be promoted, ms. */
const GIVEN_UP = 10_000;

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
    /** One for each sentinel. */
    private readonly admins: readonly Redis[],
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
      sentinels.map((sentinel) => quickAdminOf(sentinel, password)),
    );
    await Promise.all(setup.admins.map((admin) => admin.connect()));
    await setup.whole();
    return setup;
  }

  /** For a client. */
  get options(): { name: string; sentinels: { host: string; port: number }[] } {
    return { name: NAME, sentinels: this.sentinels.map(({ port }) => ({ host: HOST, port })) };
  }

  /** Says the same to each of the sentinels. */
  async tellSentinels(...command: [string, ...string[]]): Promise<unknown[]> {
    return await Promise.all(this.admins.map((admin) => admin.call(...command)));
  }

  /** Whom the first of the sentinels names. */
  async primary(): Promise<Instance> {
    const [, port] = (await this.first.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)) as [string, string];
    const found = this.instances.find(({ server }) => server.port === Number(port));
    if (!found) throw new Error(`The sentinels name a stranger at port ${port}.`);
    return found;
  }

  /** Asks the sentinels to promote a replica although nothing is wrong, again if they give it up. Resolves when they name another primary. */
  async failover(): Promise<void> {
    const former = await this.primary();
    let asked = -Infinity;
    const isReplaced = async (): Promise<boolean> => {
      if (performance.now() > asked + GIVEN_UP) {
        asked = performance.now();
        // Refused while an attempt is under way, and while no replica is good enough.
        await this.first.call('SENTINEL', 'FAILOVER', NAME).catch(() => undefined);
      }
      return (await this.primary()) !== former;
    };
    await eventually(isReplaced, 2 * MEETING, 'a failover by order');
  }

  /** Resolves when the sentinels name another one than `former`, and that one is a primary. */
  async promoted(former: Instance): Promise<Instance> {
    let now = former;
    const done = async (): Promise<boolean> => {
      now = await this.primary();
      if (now === former) return false;
      // A promotion cuts the connections of the server, this one too.
      const [role] = await now.admin.role().catch(() => []);
      return role === 'master';
    };
    await eventually(done, MEETING, 'a failover');
    return now;
  }

  /**
   * Resolves when so many clients listen at the primary, whose channels begin with `prefix`, and so many of those in line for `line.key` have
   * called there since this was called; traces of earlier calls may come from the former primary. A client finds a new primary as soon as a
   * sentinel tells it and the machine lets it.
   */
  async found(
    prefix: string,
    listening: number,
    line?: { key: string; waiting: number; window: number },
  ): Promise<void> {
    let since: number | undefined;
    const all = async (): Promise<boolean> => {
      const { admin } = await this.primary();
      const [seconds, micros] = (await admin.time()) as [number, number];
      since ??= Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
      const channels = await clientChannels(admin, `${prefix}:client:*`);
      if (channels.length !== listening) return false;
      if (!line) return true;
      const lock = `${prefix}:{${line.key}}`;
      const called = await admin.zrangebyscore(`${lock}:clients`, since + line.window, '+inf');
      const inLine = await admin.zrange(`${lock}:queue`, '0', '-1');
      return inLine.filter((name) => called.includes(name.split(':')[0]!)).length === line.waiting;
    };
    await eventually(() => all().catch(() => false), MEETING, 'the clients to find the primary');
  }

  /** Resolves when all servers run and follow the primary, and each sentinel knows that: any of them may lead a failover. */
  async whole(): Promise<void> {
    const isWhole = async (): Promise<boolean> => {
      const primary = await this.primary();
      const roles = await Promise.all(this.instances.map(({ admin }) => admin.role().catch(() => [])));
      const following = roles.filter((role) => role[0] === 'slave' && role[3] === 'connected').length;
      if (following !== this.instances.length - 1) return false;
      const views = await Promise.all(this.admins.map((admin) => this.seesAll(admin, primary)));
      return views.every(Boolean);
    };
    await eventually(isWhole, MEETING, 'the primary, its replicas and the sentinels to be in order');
  }

  /** Resolves when all replicas have what `primary` has executed. */
  replicated(primary: Instance): Promise<void> {
    return caughtUp(
      primary,
      this.instances.filter((instance) => instance !== primary),
    );
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
    await revive(this.instances.map(({ server }) => server));
  }

  async stop(): Promise<void> {
    for (const { admin } of this.instances) admin.disconnect();
    for (const admin of this.admins) admin.disconnect();
    await stopAll([...this.sentinels, ...this.instances.map(({ server }) => server)]);
  }

  private get first(): Redis {
    return this.admins[0]!;
  }

  /** Whether a sentinel knows the others, the primary, and each replica so well that it could choose it; and no failover is under way. */
  private async seesAll(sentinel: Redis, { server }: Instance): Promise<boolean> {
    const [primary] = await entriesOf(sentinel, 'MASTERS');
    const replicas = await entriesOf(sentinel, 'REPLICAS', NAME);
    const others = await entriesOf(sentinel, 'SENTINELS', NAME);
    // 0 until the replica has told of itself.
    const eligible = replicas.filter(
      (entry) => entry['flags'] === 'slave' && Number(entry['info-refresh']) > 0,
    );
    return (
      primary?.['flags'] === 'master' &&
      primary['port'] === String(server.port) &&
      eligible.length === this.instances.length - 1 &&
      others.length === SENTINELS - 1
    );
  }
}

/** What a sentinel tells of each primary, replica or other sentinel. */
async function entriesOf(sentinel: Redis, ...command: string[]): Promise<Record<string, string>[]> {
  const entries = (await sentinel.call('SENTINEL', ...command)) as string[][];
  return entries.map((entry) => {
    const pairs = entry.flatMap((name, i) => (i % 2 === 0 ? [[name, entry[i + 1]]] : []));
    return Object.fromEntries(pairs) as Record<string, string>;
  });
}

async function startInstance(of?: number): Promise<Instance> {
  const server = await startRedisServer({
    config: {
      'repl-diskless-sync-delay': 0,
      'repl-ping-replica-period': 1,
      ...(of !== undefined && { replicaof: `${HOST} ${of}` }),
    },
  });
  const admin = quickAdminOf(server);
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

/** Without a look whether the server has loaded its data. */
function quickAdminOf(server: RedisServer, password?: string): Redis {
  return adminOf(server, { enableReadyCheck: false, ...(password !== undefined && { password }) });
}

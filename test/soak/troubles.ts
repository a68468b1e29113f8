import type { Redis } from 'ioredis';
import type { History } from '../support/history/history.js';
import type { RedisServer } from '../support/redis.js';
import type { ScriptName } from '../support/native-commands.js';
import { script } from '../support/native-commands.js';
import type { Part, TcpProxy } from '../support/tcp-proxy.js';
import { eventually, pause } from '../support/waiting.js';
import type { Random } from '../simulation/world/random.js';
import type { WorkerPool } from './worker-pool.js';

/** What can be done to the system, and to whom. */
export interface Target {
  readonly server: RedisServer;
  readonly admin: Redis;
  readonly proxy: TcpProxy;
  readonly pool: WorkerPool;
  readonly history: History;
  readonly prefix: string;
  /** The locks in use just now. */
  readonly keys: () => readonly string[];
  readonly lease: number;
  readonly heartbeat: number;
}

/** One kind of fault: how often, and how it is done. Resolves when it is over; false if it could not be done just now. */
export interface Trouble {
  readonly name: string;
  readonly perSecond: number;
  /** The whole server at a time: never two of these together. */
  readonly ofServer?: boolean;
  readonly make: (target: Target, random: Random) => Promise<boolean | void>;
}

/** G, and ε behind it: how long broken subscriptions may take to come back, ms; on a busy machine, longer (`subscribed`). */
const RECONNECTED = 500;
/** The longest pause between two attempts to connect, with its jitter, ms. */
const LONGEST_BACKOFF = 1_200;
const SERVER_TIME_LIMIT = 20_000;
const ANSWER_TIME_LIMIT = 10_000;
const HOUR = 3_600_000;

export const TROUBLES: readonly Trouble[] = [
  { name: 'kill', perSecond: 2.6, make: ({ pool }, random) => pool.kill(random.pick(pool.members)) },
  { name: 'stop briefly', perSecond: 0.12, make: (target, random) => stop(target, random, 50, 1_000) },
  {
    name: 'stop beyond the lease',
    perSecond: 0.02,
    make: (target, random) => stop(target, random, target.lease, target.lease + 1_500),
  },
  {
    name: 'block',
    perSecond: 0.05,
    make: async ({ pool, history }, random) => {
      const { worker } = random.pick(pool.members);
      const ms = random.between(50, 1_500);
      const { heal } = history.fault('stopped', { victim: worker.name });
      worker.block(ms);
      await pause(ms + RECONNECTED);
      heal();
    },
  },
  {
    name: 'step a wall clock',
    perSecond: 0.04,
    make: async ({ pool }, random) => {
      const { worker } = random.pick(pool.members);
      const step = random.chance(0.5) ? HOUR : -HOUR;
      worker.stepClock(step);
      await pause(random.between(200, 2_000));
      worker.stepClock(-step);
    },
  },
  {
    name: 'cut one client',
    perSecond: 0.2,
    make: async ({ pool, history, admin }, random) => {
      const { worker } = random.pick(pool.members);
      const { heal } = history.fault('cut', { victim: worker.name });
      const clients = String(await admin.call('CLIENT', 'LIST')).split('\n');
      const own = clients.filter((line) => line.includes(` name=${worker.name} `));
      for (const line of own) {
        const id = /^id=(\d+)/.exec(line)?.[1];
        if (id) await admin.call('CLIENT', 'KILL', 'ID', id);
      }
      await pause(RECONNECTED);
      await subscribed(admin, () => membersOf(pool).filter((name) => name === worker.name));
      heal();
    },
  },
  {
    name: 'cut all subscribers',
    perSecond: 0.03,
    make: async ({ history, admin, pool }) => {
      const { heal } = history.fault('cut');
      await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await pause(RECONNECTED);
      await subscribed(admin, () => membersOf(pool));
      heal();
    },
  },
  {
    name: 'flush scripts',
    perSecond: 0.3,
    make: async ({ admin }) => void (await admin.script('FLUSH')),
  },
  {
    name: 'pause the server',
    perSecond: 0.02,
    ofServer: true,
    make: async ({ history, admin }, random) => {
      const ms = Math.round(random.between(50, 1_500));
      const { heal } = history.fault('serverAway');
      await admin.call('CLIENT', 'PAUSE', String(ms), 'ALL');
      await pause(ms);
      await admin.ping();
      heal();
    },
  },
  {
    name: 'restart the server',
    perSecond: 0.015,
    ofServer: true,
    make: async ({ history, server, admin, lease }, random) => {
      const { heal } = history.fault('serverAway');
      await server.kill('SIGKILL');
      await pause(random.between(0, random.chance(0.3) ? 1.2 * lease : 1_500));
      await server.restart();
      await eventually(() => answers(admin), SERVER_TIME_LIMIT, 'the server that was restarted');
      await pause(LONGEST_BACKOFF);
      heal();
    },
  },
  {
    name: 'lose all data',
    perSecond: 0.006,
    ofServer: true,
    make: async ({ history, admin, heartbeat }) => {
      const { heal } = history.fault('dataLost');
      await admin.flushall();
      await pause(heartbeat + RECONNECTED);
      heal();
    },
  },
  {
    name: 'evict a key',
    perSecond: 0.05,
    make: async ({ history, admin, keys, prefix, heartbeat }, random) => {
      const key = random.pick(keys());
      const { heal } = history.fault('dataLost', { key });
      await admin.del(`${prefix}:{${key}}${random.pick(['', ':queue', ':clients'])}`);
      await pause(heartbeat + RECONNECTED);
      heal();
    },
  },
  {
    name: 'force a release',
    perSecond: 0.05,
    make: async ({ history, pool, keys }, random) => {
      const key = random.pick(keys());
      const { worker } = random.pick(pool.members);
      const { heal } = history.fault('forced', { key });
      // It may be killed before it answers.
      await worker.query('forceRelease', key, ANSWER_TIME_LIMIT).catch(() => undefined);
      heal();
    },
  },
  {
    name: 'reset connections',
    perSecond: 0.1,
    make: (target) => atProxy(target, () => target.proxy.cut(), 0),
  },
  {
    name: 'black hole',
    perSecond: 0.03,
    make: (target, random) => {
      const part: Part = random.pick([{}, { direction: 'toServer' }, { direction: 'toClient' }] as const);
      const role = random.pick([{}, {}, { role: 'commands' }, { role: 'subscriber' }] as const);
      const ms = random.between(200, random.chance(0.3) ? target.lease + 1_000 : 1_500);
      return atProxy(target, () => target.proxy.blackHole({ ...part, ...role }), ms);
    },
  },
  {
    name: 'latency',
    perSecond: 0.03,
    make: (target, random) => {
      const delay = random.between(20, 400);
      return atProxy(target, () => target.proxy.disturb({ delay }), random.between(300, 2_000));
    },
  },
  {
    name: 'drop messages',
    perSecond: 0.03,
    make: (target, random) =>
      atProxy(
        target,
        () => {
          const rule = target.proxy.dropMessages();
          return () => rule.remove();
        },
        random.between(300, 2_000),
      ),
  },
  {
    name: 'lose a reply, deliver the command again',
    perSecond: 0.08,
    make: (target, random) => {
      const match = script(random.pick<ScriptName>(['acquire', 'done', 'heartbeat']));
      const reply = random.pick(['cut', 'lost'] as const);
      const rule = target.proxy.rule({
        match,
        reply,
        again: [random.between(0, 300), random.between(300, 3_000)],
      });
      return atProxy(target, () => () => rule.remove(), 3_000 + random.between(0, 300));
    },
  },
];

async function stop({ pool }: Target, random: Random, least: number, most: number): Promise<void> {
  const { resume } = random.pick(pool.members).worker.stop();
  await pause(random.between(least, most));
  resume();
}

/** Something that all behind the front may feel, for so long. */
async function atProxy(target: Target, begin: () => void | (() => void), ms: number): Promise<boolean> {
  const { pool, history, admin } = target;
  if (pool.behindProxy.size === 0) return false;
  const heals: (() => void)[] = [];
  const suffers = (victim: string): void => void heals.push(history.fault('cut', { victim }).heal);
  pool.behindProxy.forEach(suffers);
  // Also those that start meanwhile.
  pool.onBehindProxy.add(suffers);
  const end = begin();
  await pause(ms);
  end?.();
  await pause(RECONNECTED);
  await subscribed(admin, () => membersOf(pool).filter((name) => pool.behindProxy.has(name)));
  pool.onBehindProxy.delete(suffers);
  for (const heal of heals) heal();
  return true;
}

/** Those at work that were not killed meanwhile. */
function membersOf(pool: WorkerPool): string[] {
  return pool.members.map(({ worker }) => worker.name);
}

/** Resolves when the server has a subscriber of each of `names`, which may change meanwhile. */
async function subscribed(admin: Redis, names: () => readonly string[]): Promise<void> {
  const all = async (): Promise<boolean> => {
    const clients = String(await admin.call('CLIENT', 'LIST', 'TYPE', 'pubsub'));
    return names().every((name) => clients.includes(` name=${name} `));
  };
  await eventually(all, SERVER_TIME_LIMIT, 'the subscriptions that were broken');
}

async function answers(admin: Redis): Promise<boolean> {
  return await admin.ping().then(
    (pong) => pong === 'PONG',
    () => false,
  );
}

/**
 * Checks the formulas of docs/sizing.md: `node bench/sizing.mjs --clients 1000 --locks 100` on a build. To Redis, each client is a process: it
 * has two connections and renews its locks by itself. Prints the heartbeats and the server's CPU for each, its memory and its connections.
 */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startRedisServer } from '../tools/redis-finder.mjs';
import { createFairLock } from '../dist/esm/standalone/index.js';

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '1000' },
    locks: { type: 'string', default: '100' },
    // Long enough for one machine to carry the clients as well.
    window: { type: 'string', default: '60000' },
  },
});
const [CLIENTS, LOCKS, WINDOW] = [values.clients, values.locks, values.window].map(Number);
/** Connections are opened and locks are taken by so many clients at a time. */
const AT_ONCE = 20;

const server = await startRedisServer();
const redis = new Redis(server.url);
const clients = [];
const holds = [];
try {
  await once(redis, 'ready');
  const empty = await info('memory');
  const options = {
    waitTime: Infinity,
    redis: server.url,
    livenessWindow: WINDOW,
    watchdogTimeout: WINDOW,
    commandTimeout: WINDOW / 4,
    slowHold: false,
  };
  await inGroups(async () => clients.push(await createFairLock(options)));
  const idle = await info('memory');
  await inGroups(async (client) => {
    for (let lock = 0; lock < LOCKS; lock += 1)
      holds.push(await clients[client].acquire(`sizing:${client}:${lock}`));
  });
  await sleep(WINDOW / 3); // the first renewals follow the grants; from here on all are periodic
  const before = await usage();
  await sleep(WINDOW / 3);
  const after = await usage();
  const heartbeats = after.scripts - before.scripts;
  const { connected_clients } = await info('clients');
  console.log({
    clients: CLIENTS,
    locks: holds.length,
    lost: holds.filter(({ state }) => state === 'lost').length,
    connections: connected_clients - 1,
    heartbeatsPerSecond: heartbeats / (after.seconds - before.seconds),
    byTheFormula: (CLIENTS * LOCKS * 3_000) / WINDOW,
    serverMicrosPerHeartbeat: (1e6 * (after.cpu - before.cpu)) / heartbeats,
    bytesPerClient: (idle.used_memory - empty.used_memory) / CLIENTS,
    bytesPerLock: await bytesPerKey(),
  });
} finally {
  await Promise.all(clients.map((client) => client.close()));
  redis.disconnect();
  await server.stop();
}

async function inGroups(work) {
  let next = 0;
  const one = async () => {
    while (next < CLIENTS) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

async function info(section) {
  const text = await redis.info(section);
  return Object.fromEntries(
    [...text.matchAll(/^(\w+):([\d.]+)\r?$/gm)].map(([, name, value]) => [name, Number(value)]),
  );
}

async function usage() {
  const { used_cpu_user, used_cpu_sys } = await info('cpu');
  const scripts = Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(await redis.info('commandstats'))?.[1] ?? 0);
  return { scripts, cpu: used_cpu_user + used_cpu_sys, seconds: performance.now() / 1_000 };
}

/** The mean of some; each lock that is held has one key. */
async function bytesPerKey() {
  const keys = await Promise.all(Array.from({ length: 100 }, () => redis.randomkey()));
  const bytes = await Promise.all(keys.map((key) => redis.memory('USAGE', key)));
  return bytes.reduce((sum, one) => sum + one, 0) / bytes.length;
}

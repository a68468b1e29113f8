import { Redis } from 'ioredis';
import { fileURLToPath } from 'node:url';
import { startRedisServer, type RedisServer } from '../support/redis.js';
import { noRight, type Executed, type MiniRedis } from './mini-redis/mini-redis.js';
import { RedisError, Status } from './mini-redis/reply.js';
import { SortedSet } from './mini-redis/sorted-set.js';
import { REPLICA_FAULT_KINDS, type FaultKind } from './scenario/faults.js';
import { drawPlan } from './scenario/plan.js';
import { Simulation } from './scenario/simulation.js';
import { ClientLoader } from './world/load-client.js';

const SEEDS = 12;
/** Below this (ms) a released lock expires on the real server before its data are read. */
const SHORTEST_TIMEOUT = 250;
/** These change data or memory by other ways than commands. */
const NOT_COMMANDS: readonly FaultKind[] = [
  'rollback',
  'restart-empty',
  'memory-full',
  ...REPLICA_FAULT_KINDS,
];
const SURROUNDINGS = `
local surroundings, server = cjson.decode(table.remove(ARGV)), redis
local function answer(call, name, ...)
  if surroundings.denied[name] then
    local refusal = { err = surroundings.denied[name] }
    if call == server.call then error(refusal) end
    return refusal
  end
  if name == 'TIME' then return surroundings.time end
  if name == 'PUBLISH' then return 0 end
  if name == 'PEXPIREAT' then
    local key, at = ...
    return call('PEXPIRE', key, string.format('%.0f', at - surroundings.now))
  end
  if name == 'INFO' then return 'run_id:' .. surroundings.runId end
  if name == 'PUBSUB' then
    local channel = select(2, ...)
    return { channel, surroundings.listeners[channel] or 0 }
  end
  if name == 'HSCAN' then
    -- Of a large hash Redis shows a part, by its own hash function; the simulated server shows all that matches.
    local key, _, _, pattern = ...
    local fields, found = call('HGETALL', key), {}
    for i = 1, #fields, 2 do
      if string.sub(fields[i], 1, #pattern - 1) == string.sub(pattern, 1, -2) then
        table.insert(found, fields[i])
        table.insert(found, fields[i + 1])
      end
    end
    return { '0', found }
  end
  return call(name, ...)
end
local redis = {
  call = function(...) return answer(server.call, ...) end,
  pcall = function(...) return answer(server.pcall, ...) end
}
`;

/** The same script on a real server that is told the simulated time, run id and subscriptions. */
async function onRealServer(
  redis: Redis,
  { args, micros, runId, listeners, denied }: Executed,
  source: string,
): Promise<unknown> {
  const [, count = '0', ...rest] = args;
  const time = [String(Math.floor(micros / 1e6)), String(micros % 1e6)];
  const refusals = Object.fromEntries(denied.map((command) => [command, noRight(command).text]));
  const surroundings = JSON.stringify({
    time,
    now: Math.floor(micros / 1e3),
    runId,
    listeners,
    denied: refusals,
  });
  return redis.eval(SURROUNDINGS + source, count, ...rest, surroundings).catch((error: unknown) => error);
}

function plain(reply: unknown): unknown {
  if (reply instanceof Error) return `error ${reply.message.replace(/ script: .*$/, '')}`;
  if (reply instanceof RedisError) return `error ${reply.text}`;
  if (reply instanceof Status) return reply.text;
  return Array.isArray(reply) ? reply.map(plain) : reply;
}

type Data = Record<string, Record<string, string> | string[]>;

async function dataOf(redis: Redis): Promise<Data> {
  const found: Data = {};
  for (const key of await redis.keys('*')) {
    found[key] =
      (await redis.type(key)) === 'hash'
        ? await redis.hgetall(key)
        : await redis.zrange(key, '0', '-1', 'WITHSCORES');
  }
  return found;
}

function simulatedData(mini: MiniRedis): Data {
  const found: Data = {};
  for (const [key, { content }] of mini.keys.snapshot()) {
    found[key] =
      content instanceof SortedSet
        ? content.entries().flatMap(([member, score]) => [member, String(score)])
        : Object.fromEntries(content);
  }
  return found;
}

describe('what the simulated server ran, run again on a real one', () => {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRedisServer();
    redis = new Redis(server.url, { protocol: 2 });
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  const seeds = Array.from({ length: 2 * SEEDS }, (_, i) => i + 1).filter((seed) => {
    const plan = drawPlan(seed);
    const times = plan.clients.map((client) => client.times ?? plan);
    return times.every(({ commandTimeout }) => commandTimeout >= SHORTEST_TIMEOUT);
  });
  test.each(seeds.slice(0, SEEDS))('answers and leaves the same (seed %i)', async (seed) => {
    const loader = new ClientLoader(fileURLToPath(new URL('../../lib', import.meta.url)));
    const plan = drawPlan(seed, { without: NOT_COMMANDS });
    const simulation = new Simulation(
      plan,
      [1, 2, 3, 4].map(() => loader.load()),
      false,
    );
    const transcript: (Executed & { data: Data })[] = [];
    const mini = simulation.server.redis;
    mini.onExecuted = (executed) => transcript.push({ ...executed, data: simulatedData(mini) });
    await simulation.run();
    expect(transcript.length).toBeGreaterThan(0);

    await redis.flushdb();
    const sources = new Map<string, string>();
    for (const executed of transcript) {
      const { name, args, keys, reply, data } = executed;
      if (name === 'eval') sources.set(String(await redis.script('LOAD', args[0] ?? '')), args[0] ?? '');
      const source = name === 'eval' ? args[0] : sources.get(args[0] ?? '');
      const unknownScript = reply instanceof RedisError && reply.text.startsWith('NOSCRIPT');
      // The checker's own looks at the data change nothing.
      if (unknownScript || !['eval', 'evalsha', 'FLUSHALL', 'DEL'].includes(name)) continue;
      // Time passes faster here: what had expired there is deleted.
      const gone = (await redis.keys('*')).filter((key) => !keys.includes(key));
      if (gone.length > 0) await redis.del(gone);
      const real =
        name === 'FLUSHALL'
          ? await redis.flushdb()
          : name === 'DEL'
            ? await redis.del([...args])
            : await onRealServer(redis, executed, source ?? '');
      expect({ name, args, reply: plain(reply), data }).toEqual({
        name,
        args,
        reply: plain(real),
        data: await dataOf(redis),
      });
    }
  });
});

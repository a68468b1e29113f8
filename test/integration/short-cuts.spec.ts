import fc from 'fast-check';
import { Redis } from 'ioredis';
import { scriptsOfClient } from '../../lib/stores/redis/commands/client-scripts.js';
import { timing } from '../../lib/stores/redis/commands/timing.js';
import { EqualPaths, Messages, replaced } from '../support/equal-paths.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { ScriptClient } from '../support/script-client.js';

const TIMES = { window: 2_000, lease: 30_000, grace: 250 };
const HOUR = 3_600_000;
/** `.ci/nightly` compares 10,000 states. */
const RUNS = Number(process.env.STATES ?? 600);
/** What one comparison may take on a busy machine, ms. */
const LONGEST_RUN = 200;
/** For how long a released lock is remembered that nothing waits for, ms. */
const REST = 2_000;

const { acquire, release } = scriptsOfClient(timing(TIMES.lease, TIMES.window, 1_000), undefined);

const SCRIPTS = {
  acquire: { short: acquire.lua, long: replaced(acquire.lua, 'if not STRICT and life and', 'if false and') },
  release: {
    short: release.lua,
    long: replaced(release.lua, "local usual = plain and mine and back == '' and", 'local usual = false and'),
  },
} as const;

const mostly = fc.constantFrom(true, true, true, true, false);
const queue = fc.constant('acquire');
const others = fc.constantFrom('try', 'ahead', 'release', 'leave', 'force', 'heartbeat', 'evict');
const step = fc.record({
  by: fc.nat(2),
  command: fc.oneof({ arbitrary: queue, weight: 2 }, { arbitrary: others, weight: 1 }),
});
const last = fc.record({
  by: fc.nat(2),
  /** Whether the clients say on which server they listen. */
  subscribed: mostly,
  /** Which of the clients' channels has a listener. */
  listening: fc.tuple(mostly, mostly, mostly),
  command: fc.constantFrom('acquire', 'release'),
  /** A release by the client that holds the lock, if there is one. */
  byHolder: mostly,
  /** The clock of the server, set by so much, ms. */
  clock: fc.constantFrom(0, 0, 0, 0, 10 * HOUR, -10 * HOUR),
  sequence: fc.nat(4),
  isUsual: fc.boolean(),
  fixed: fc.constantFrom('', '', 500, HOUR),
  ahead: fc.constantFrom(0, 0, 0, 2 * HOUR),
  isLate: fc.constantFrom(false, false, false, true),
  more: fc.constantFrom([-1, 0, 'wait'], [-1, 0, 'wait'], [-1, 0, 'try'], [1, 0, 'wait'], [-1, 5, 'wait']),
  /** Whether the client knows the clock of the server. */
  knowsTime: mostly,
  moreOfRelease: fc.constantFrom([], [], [], ['', 'waiting'], ['1,2', 'idle']),
});

describe('the short cuts of acquire and release', () => {
  let redis: Redis;
  let messages: Messages;
  let runId: string;

  beforeAll(async () => {
    redis = new Redis(redisUrl());
    messages = new Messages([uniquePrefix(), uniquePrefix()]);
    await messages.begin();
    runId = /run_id:(\w+)/.exec(await redis.info('server'))![1]!;
  });
  afterAll(() => {
    redis.disconnect();
    messages.close();
  });

  /** Brings a lock into some state by real commands. */
  async function play(clients: readonly ScriptClient[], steps: readonly { by: number; command: string }[]) {
    const [{ keys }] = clients as [ScriptClient];
    for (const { by, command } of steps) {
      const one = clients[by]!;
      const [holder, token] = await redis.hmget(keys[0], 'holder', 'token');
      const owner = clients.find(({ id }) => id === holder);
      if (command === 'acquire') await one.acquire();
      if (command === 'try') await one.acquire({ tries: true });
      if (command === 'ahead') await one.acquire({ highest: (Date.now() + HOUR) * 1_000 });
      if (command === 'release') await owner?.release(Number(token), 1);
      if (command === 'leave') await one.leave(1);
      if (command === 'force') await one.forceRelease(Number(token ?? 1));
      if (command === 'heartbeat') await one.heartbeat(one === owner ? Number(token) : 0);
      if (command === 'evict') await redis.del(keys[by]!);
    }
  }

  test(
    'end in the same keys, reply and messages as the long way',
    async () => {
      let taken = 0;
      let releases = 0;
      let handoffs = 0;
      const { prefixes } = messages;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 5 }), last, async (steps, command) => {
          const clients = Array.from({ length: 3 }, () => new ScriptClient(redis, prefixes[0], TIMES));
          let caller = clients[command.by]!;
          const copied = new ScriptClient(redis, prefixes[1], TIMES);
          await redis.del(...caller.keys, ...copied.keys);
          if (command.subscribed) for (const client of clients) client.subscribed = [runId, 10_000];
          const heard = clients.filter((_, i) => command.listening[i]).map(({ id }) => id);
          await messages.listenTo(heard);
          await play(clients, steps);
          const holder = await redis.hget(caller.keys[0], 'holder');
          if (command.command === 'release' && command.byHolder)
            caller = clients.find(({ id }) => id === holder) ?? caller;
          const isDenied = async ([hash, queue]: readonly string[]): Promise<boolean> =>
            /^(held|free)$/.test((await redis.hget(hash!, 'state')) ?? '') && (await redis.zcard(queue!)) > 0;
          expect(await isDenied(caller.keys)).toBe(false);
          await messages.take();

          const clock = Date.now() + command.clock;
          const token = (await redis.hget(caller.keys[0], 'token')) ?? '1';
          const deadline = command.isLate ? clock - 1 : clock + 1_000;
          const seen = command.ahead === 0 ? 0 : (clock + command.ahead) * 1_000;
          // As a client sends it: after the tokens of the grant.
          const rest = clock + REST;
          const restUntil = command.knowsTime && (rest - 1) * 1_000 > Number(token) ? rest : 0;
          const moreOfAcquire: readonly (string | number)[] = command.isUsual
            ? []
            : [command.fixed, ...command.more];
          const moreOfRelease: readonly (string | number)[] = command.moreOfRelease;
          const own =
            command.command === 'acquire'
              ? [deadline, command.sequence, 'label', seen, ...moreOfAcquire]
              : [token, command.sequence, restUntil, ...moreOfRelease];
          const marksAlive = command.command === 'acquire' || moreOfRelease.includes('waiting');
          const args = [caller.id, ...own, ...(marksAlive ? [...caller.subscribed, 'host/1'] : [])];
          const paths = new EqualPaths(redis, caller.keys, copied.keys, clock);
          // Which generation it is, the short cuts do not look; nor when, where nothing waits for the released lock.
          const reply = await paths.compare(SCRIPTS[command.command], args, (short) => ({
            generation: 0,
            ...(short === 'RELEASED' && { serverTime: undefined }),
          }));
          if (typeof reply === 'string') taken += 1;
          if (reply === 'RELEASED') releases += 1;
          if (/^RELEASED \d+ \d+$/.test(String(reply))) handoffs += 1;
          expect(await isDenied(caller.keys)).toBe(false);
          const [published, byLongWay] = await messages.take();
          expect(published).toEqual(byLongWay);
          await messages.leave(heard);
        }),
        { numRuns: RUNS, ...(process.env.SEED && { seed: Number(process.env.SEED) }) },
      );
      // Most of the other states have waiters, a clock behind the tokens, or a command that came too late.
      expect(taken).toBeGreaterThan(RUNS / 10);
      expect(releases).toBeGreaterThan(0);
      expect(handoffs).toBeGreaterThan(0);
    },
    RUNS * LONGEST_RUN,
  );
});

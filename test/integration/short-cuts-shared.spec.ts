import fc from 'fast-check';
import { Redis } from 'ioredis';
import { scriptsOfClient } from '../../lib/stores/redis/commands/client-scripts.js';
import { timing } from '../../lib/stores/redis/commands/timing.js';
import { EqualPaths, Messages, replaced } from '../support/equal-paths.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { ScriptClient } from '../support/script-client.js';

/** The window is long, so that a client counts as marked alive just now on a busy machine, too. */
const TIMES = { window: 20_000, lease: 30_000, grace: 250 };
const HOUR = 3_600_000;
/** `.ci/nightly` compares 10,000 states. */
const RUNS = Number(process.env.STATES ?? 600);
/** What one comparison may take on a busy machine, ms. */
const LONGEST_RUN = 200;

const { acquireShared, releaseShared } = scriptsOfClient(timing(TIMES.lease, TIMES.window, 1_000), undefined);
/** Each time the short cut is taken, this key of its lock counts it. */
const TAKEN = ':taken';
const paths = (lua: string, attempt: string, taken: string) => ({
  short: replaced(lua, taken, `redis.call('INCR', hash .. '${TAKEN}') ${taken}`),
  long: replaced(lua, attempt, 'nil\nif'),
});
const SCRIPTS = {
  acquire: paths(acquireShared.lua, 'joinLine()\nif', 'return joined'),
  release: paths(releaseShared.lua, 'passOn()\nif', 'return passed'),
};

const usually = fc.constantFrom(true, true, true, true, true, true, true, false);
const mark = fc.constantFrom(...Array<string>(8).fill('p1/2'), 'p2/2', 'p1/3', 'p1/2,5000', 'r');
const step = fc.record({
  by: fc.nat(2),
  mark,
  command: fc.constantFrom(
    ...['acquire', 'acquire', 'acquire', 'acquire', 'acquire', 'acquire', 'release', 'release'],
    ...['keep', 'alone', 'heartbeat', 'evict', 'silent'],
  ),
});
/** More permits are asked for than there are. */
const CROWD = [0, 1, 2, 0, 1, 2].map((by) => ({ by, mark: 'p1/2', command: 'acquire' }));
const last = fc.record({
  by: fc.nat(2),
  mark,
  /** Whether the clients say on which server they listen, and which of their channels has a listener. */
  subscribed: usually,
  listening: fc.tuple(usually, usually, usually),
  command: fc.constantFrom('acquire' as const, 'release' as const),
  /** A request that holds the lock, if there is one, and not one that waits. */
  isHeld: usually,
  sequence: fc.constantFrom(99, 99, 99, 1, 2),
  clock: fc.constantFrom(0, 0, 0, 0, 0, 1_500, 40_000, -10 * HOUR),
  ahead: fc.constantFrom(0, 0, 0, 0, 2 * HOUR),
  isLate: fc.constantFrom(...Array<boolean>(7).fill(false), true),
  knowsMark: usually,
  moreOfAcquire: fc.constantFrom(
    [-1, 0, 'wait'],
    [-1, 0, 'wait'],
    [-1, 0, 'wait'],
    [-1, 0, 'try'],
    [1, 0, 'wait'],
    [-1, 5, 'wait'],
  ),
  keep: fc.constantFrom(0, 0, 0, 0, 0, 60_000),
  waits: fc.constantFrom(false, false, false, false, true),
});

describe('the short cuts of permits', () => {
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

  /** The requests that a client holds the lock with, in the order of the record. */
  async function heldBy({ keys, id }: ScriptClient): Promise<number[]> {
    const record = (await redis.hget(keys[0], `held:${id}`)) ?? '';
    return [...record.matchAll(/,(\d+):/g)].map(([, sequence]) => Number(sequence));
  }

  /** Brings a lock into some state by real commands. */
  async function play(
    clients: readonly ScriptClient[],
    steps: readonly { by: number; mark: string; command: string }[],
  ) {
    for (const { by, mark: asked, command } of steps) {
      const one = clients[by]!;
      if (command === 'acquire') await one.acquireShared(asked);
      if (command === 'alone') await one.acquire();
      if (command === 'heartbeat') await one.heartbeat('shared');
      if (command === 'evict') await redis.del(one.keys[by]!);
      // It has not called for so long.
      if (command === 'silent') await redis.zadd(one.keys[2], 'XX', Date.now() - 1, one.id);
      const held = await heldBy(one);
      const keep = command === 'keep' ? 60_000 : 0;
      if ((command === 'release' || keep > 0) && held.length > 0)
        await one.releaseShared(held.slice(0, 1), '', keep);
    }
  }

  test(
    'end in the same keys, reply and messages as the long way',
    async () => {
      const { prefixes } = messages;
      const taken = { acquire: 0, release: 0 };
      await fc.assert(
        fc.asyncProperty(
          usually,
          fc.array(step, { maxLength: 6 }),
          last,
          async (isCrowded, steps, command) => {
            const clients = Array.from({ length: 3 }, () => new ScriptClient(redis, prefixes[0], TIMES));
            const copied = new ScriptClient(redis, prefixes[1], TIMES);
            await redis.del(
              ...clients[0]!.keys,
              ...copied.keys,
              copied.keys[0].replace(prefixes[1], prefixes[0]) + TAKEN,
            );
            if (command.subscribed) for (const client of clients) client.subscribed = [runId, 10_000];
            const heard = clients.filter((_, i) => command.listening[i]).map(({ id }) => id);
            await messages.listenTo(heard);
            await play(clients, [...(isCrowded ? CROWD : []), ...steps]);
            await messages.take();

            const holders = await Promise.all(clients.map(heldBy));
            let caller = clients[command.by]!;
            if (command.command === 'release' && command.isHeld)
              caller = clients.find((_, i) => holders[i]!.length > 0) ?? caller;
            const [held = 1] = holders[clients.indexOf(caller)]!;
            const clock = Date.now() + command.clock;
            const deadline = command.isLate ? clock - 1 : clock + 1_000;
            const seen = command.ahead === 0 ? 0 : (clock + command.ahead) * 1_000;
            const asked = command.knowsMark ? command.mark : '';
            const aboutListener = [...caller.subscribed, `test/${caller.id}`];
            const args =
              command.command === 'acquire'
                ? [
                    deadline,
                    command.sequence,
                    'by hand',
                    seen,
                    command.mark,
                    ...command.moreOfAcquire,
                    ...aboutListener,
                  ]
                : [
                    `${command.isHeld ? held : 2}:${asked}`,
                    command.keep,
                    ...(command.waits ? ['waiting', ...aboutListener] : ['idle']),
                  ];
            await new EqualPaths(redis, caller.keys, copied.keys, clock).compare(SCRIPTS[command.command], [
              caller.id,
              ...args,
            ]);
            taken[command.command] += Number(await redis.getdel(caller.keys[0] + TAKEN));
            const [published, byLongWay] = await messages.take();
            expect(published).toEqual(byLongWay);
            await messages.leave(heard);
          },
        ),
        { numRuns: RUNS, ...(process.env.SEED && { seed: Number(process.env.SEED) }) },
      );
      expect(taken.acquire).toBeGreaterThan(RUNS / 100);
      expect(taken.release).toBeGreaterThan(RUNS / 100);
    },
    RUNS * LONGEST_RUN,
  );
});

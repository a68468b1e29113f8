import { Redis } from 'ioredis';
import { LockStoreUnavailableError } from '../../lib/core/errors/errors.js';
import { Lab, USUAL_TIMES } from '../support/history/lab.js';
import { stamp, type HistoryEvent } from '../support/history/events.js';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { timeUntil } from '../support/stopwatch.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { deferred, pause, within, SOON } from '../support/waiting.js';

/** How often a holder renews. */
const HEARTBEAT = Math.min(USUAL_TIMES.lease, USUAL_TIMES.livenessWindow) / 3;
/** The longest time to live of what a clean release leaves: who waited is known for two to three windows. With a second to spare, ms. */
const REST = 3 * USUAL_TIMES.livenessWindow + 1_000;

/** With these a client sends its heartbeats 10 s apart. */
const LONG_TIMES = { lease: 60_000, livenessWindow: 30_000, commandTimeout: 1_000 };
/** What comes before the first of those heartbeats came by message, ms. */
const BY_MESSAGE = 5_000;

/** The keys that begin with ARGV[1] and have no time to live. */
const WITHOUT_TTL = `
  local found = {}
  for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
    if redis.call('PTTL', key) == -1 then found[#found + 1] = key end
  end
  return found`;

describe('the keys of the native store', () => {
  let redis: Redis;
  let prefix: string;
  let clients: InProcessClients;
  let patient: InProcessClients;
  beforeEach(() => {
    redis = new Redis(redisUrl());
    prefix = uniquePrefix();
    clients = new InProcessClients(prefix);
    patient = new InProcessClients(prefix, LONG_TIMES);
  });
  afterEach(async () => {
    await Promise.all([clients.close(), patient.close()]);
    redis.disconnect();
  });

  const keysLeft = (of = prefix): Promise<string[]> => redis.keys(`${of}*`);
  const expectNothingAtRest = async (of = prefix): Promise<void> => {
    const took = await timeUntil(async () => (await keysLeft(of)).length === 0, 'the last key to expire');
    expect(took).toBeLessThan(REST);
  };

  test('have a time to live after every single command of a busy run with a crash, and are gone at rest', async () => {
    const proxy = await TcpProxy.start(redisUrl());
    const lab = new Lab(proxy.url);
    try {
      let looked = 0;
      const stop = proxy.betweenCommands(async () => {
        looked += 1;
        for (const name of (await redis.eval(WITHOUT_TTL, 0, lab.prefix)) as string[]) {
          lab.history.add({ at: stamp(), worker: 'test', type: 'keyWithoutTtl', name });
        }
      });
      const [doomed, ...workers] = await lab.workersAlike(3);
      const load = {
        requests: 80,
        concurrency: 8,
        keyPrefix: 'lock',
        locks: 2,
        longestHold: 5,
        waitTime: 60_000,
        timeoutShare: 0.2,
        abortShare: 0.2,
        nestedShare: 0,
      };
      const loads = workers.map((worker, i) =>
        worker.load({ ...load, waitTime: 2_000, seed: 300 + i }, 60_000),
      );
      const crash = doomed?.load({ ...load, requests: 1_000, seed: 310 }, 60_000);
      await lab.history.first(
        (event): event is HistoryEvent => event.worker === doomed?.name && event.type === 'granted',
        SOON,
        'a grant',
      );
      await doomed?.kill();
      await Promise.all([...loads, crash]);
      await lab.closeWorkers();
      await stop();
      expect(looked).toBeGreaterThan(300);
      const { violations } = lab.check();
      expect(violations.filter(({ invariant }) => invariant === 6)).toEqual([]);
    } finally {
      await lab.close();
      await proxy.close();
    }
    // Between any two commands the whole prefix is looked at, so it takes its time on a busy machine.
  });

  test('are gone at rest, whatever the requests went through', async () => {
    const lab = new Lab(redisUrl());
    try {
      await lab.watchStalls();
      const workers = await lab.workersAlike(2);
      const load = {
        requests: 100,
        concurrency: 8,
        keyPrefix: 'lock',
        locks: 3,
        longestHold: 3,
        waitTime: 500,
        timeoutShare: 0.3,
        abortShare: 0.3,
        nestedShare: 0.2,
      };
      await Promise.all(workers.map((worker, i) => worker.load({ ...load, seed: 320 + i }, 60_000)));
      await lab.closeWorkers();
      await expectNothingAtRest(lab.prefix);
      lab.verify();
    } finally {
      await lab.close();
    }
  });

  test("begin with the key prefix of the user's client, once; so do the channels", async () => {
    const user = new Redis(redisUrl(), { keyPrefix: `${prefix}-user:` });
    const [holder, waiter] = [await patient.start(user), await patient.start(user)];
    const lock = await holder.service.acquire('a');
    const queued = deferred<number>();
    const next = waiter.service.acquire('a', { onQueued: queued.resolve });
    await queued.promise;
    const own = `${prefix}-user:${prefix}`;
    expect((await keysLeft(`${prefix}-user:`)).sort()).toEqual(
      [`${own}:{a}`, `${own}:{a}:clients`, `${own}:{a}:queue`].sort(),
    );
    expect(await keysLeft(`${prefix}:`)).toEqual([]);
    const channels = (await redis.pubsub('CHANNELS', `*${prefix}*`)) as string[];
    // Of each client, and of both.
    expect(channels).toHaveLength(3);
    for (const channel of channels) expect(channel.startsWith(`${own}:client:`)).toBe(true);

    const start = performance.now();
    await lock.release();
    await (await within(next, SOON, 'the lock')).release();
    expect(performance.now() - start).toBeLessThan(BY_MESSAGE);
    user.disconnect();
  });

  // What scripts and messages could take for the end of a field, a pattern or an escape.
  const awkward = [
    'a b',
    ' ',
    '\t',
    '\r\n',
    '\0',
    'ä',
    '注文 🔒',
    '%',
    '%s %1',
    '*?[^]',
    '"\\',
    "'",
    ',',
    ':',
    '-',
  ];
  test.each([
    ...awkward.map((part) => [JSON.stringify(part), 'ours', part] as const),
    ...awkward.map((part) => [JSON.stringify(part), "the client's", part] as const),
  ])('with a prefix that contains %s (%s) reach the next waiter by message', async (_, whose, part) => {
    const odd = new InProcessClients(whose === 'ours' ? `${prefix}${part}` : prefix, LONG_TIMES);
    const user = new Redis(redisUrl(), { keyPrefix: whose === 'ours' ? '' : `${prefix}${part}` });
    try {
      const [holder, waiter] = [await odd.start(user), await odd.start(user)];
      const lock = await holder.service.acquire('a');
      const queued = deferred<number>();
      const next = waiter.service.acquire('a', { onQueued: queued.resolve });
      await queued.promise;
      const start = performance.now();
      await lock.release();
      await (await within(next, SOON, 'the lock')).release();
      expect(performance.now() - start).toBeLessThan(BY_MESSAGE);
      expect([...holder.warnings, ...waiter.warnings]).toEqual([]);
    } finally {
      user.disconnect();
      await odd.close();
    }
  });

  describe('of which one holds a foreign type', () => {
    let first: InProcessClient;
    let second: InProcessClient;
    beforeEach(async () => {
      [first, second] = [await clients.start(redisUrl()), await clients.start(redisUrl())];
    });

    const foreignKeys = ['', ':queue', ':clients'];
    const put = (key: string): Promise<unknown> => redis.rpush(`${prefix}:{a}${key}`, 'foreign');
    const expectUntouched = async (key: string): Promise<void> => {
      const name = `${prefix}:{a}${key}`;
      expect(await redis.type(name)).toBe('list');
      expect(await redis.lrange(name, 0, -1)).toEqual(['foreign']);
      expect(await redis.pttl(name)).toBe(-1);
      await redis.del(name);
    };
    const expectTypedError = async (promise: Promise<unknown>): Promise<void> => {
      const error = await within(
        promise.then(
          () => undefined,
          (reason: unknown) => reason,
        ),
        SOON,
        'the error',
      );
      expect(error).toBeInstanceOf(LockStoreUnavailableError);
      expect(error).toMatchObject({ failure: 'foreign-type', code: 'STORE_UNAVAILABLE' });
    };

    test.each(foreignKeys)(
      '(…{a}%s): a request gets the lock or one clear error, and the foreign value stays',
      async (key) => {
        await put(key);
        // A request that is served at once need not touch all keys; one that has to wait does.
        const lock = await first.service.acquire('a').catch((error: unknown) => error);
        if (lock instanceof Error) await expectTypedError(Promise.reject(lock));
        await expectTypedError(second.service.acquire('a'));
        if ('release' in (lock as object)) await (lock as { release(): Promise<void> }).release();
        await expectUntouched(key);
        await expectNothingAtRest();
      },
    );

    test.each(foreignKeys)(
      '(…{a}%s) since it was locked: release and renewal leave it alone, and nothing hangs',
      async (key) => {
        const lock = await first.service.acquire('a');
        await redis.del(`${prefix}:{a}${key}`);
        await put(key);
        await expectTypedError(second.service.acquire('a'));
        await pause(HEARTBEAT + 200);
        await within(lock.release(), SOON, 'the release');
        await expectUntouched(key);
      },
    );

    test.each([':queue', ':clients'])('(…{a}%s) since it was locked: force leaves it alone', async (key) => {
      await first.service.acquire('a');
      await put(key);
      await second.service.forceRelease('a').catch((error: unknown) => {
        expect(error).toMatchObject({ failure: 'foreign-type' });
      });
      await expectUntouched(key);
    });
  });
});

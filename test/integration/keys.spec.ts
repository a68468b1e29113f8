import { Redis } from 'ioredis';
import { LockStoreUnavailableError } from '../../lib/core/errors/errors.js';
import { LONG_TIMES, USUAL_TIMES } from '../support/history/lab.js';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { inLine, refusal } from '../support/requests.js';
import { pause, within, SOON } from '../support/waiting.js';

/** How often a holder renews. */
const RENEWAL = USUAL_TIMES.lease / 3;
/** The longest time to live of what a clean release leaves: who waited is known for two to three windows. With a second to spare, ms. */
const REST = 3 * USUAL_TIMES.livenessWindow + 1_000;

/** What comes before the first of those heartbeats came by message, ms. */
const BY_MESSAGE = 5_000;

describe('the keys of the native store', () => {
  let redis: Redis;
  let prefix: string;
  let clients: InProcessClients;
  beforeEach(() => {
    redis = new Redis(redisUrl());
    prefix = uniquePrefix();
    clients = new InProcessClients(prefix);
  });
  afterEach(async () => {
    await clients.close();
    redis.disconnect();
  });

  // What scripts and messages could take for the end of a field, a pattern or an escape.
  const awkward = ' a b \t\r\n\0ä注文 🔒%%s %1*?[^]"\\\',:-';
  test.each([
    ["the user's client", awkward, ''],
    ['the lock', '', awkward],
  ])(
    "begin with the prefixes of the user's client and of the lock, as do the channels, and messages arrive, whatever text is in that of %s",
    async (_, theirs, ours) => {
      const odd = new InProcessClients(`${prefix}${ours}`, LONG_TIMES);
      const user = new Redis(redisUrl(), { keyPrefix: `${prefix}-user${theirs}` });
      try {
        const [holder, waiter] = [await odd.start(user), await odd.start(user)];
        const lock = await holder.service.acquire('a');
        const { granted } = await inLine(waiter, 'a');
        const own = `${prefix}-user${theirs}${prefix}${ours}`;
        const keys = await redis.keys(`*${prefix}*`);
        expect(keys.sort()).toEqual([`${own}:{a}`, `${own}:{a}:clients`, `${own}:{a}:queue`].sort());
        const channels = (await redis.pubsub('CHANNELS', `*${prefix}*`)) as string[];
        // Of each client, and of both.
        expect(channels).toHaveLength(3);
        for (const channel of channels) expect(channel.startsWith(`${own}:client:`)).toBe(true);

        const start = performance.now();
        await lock.release();
        await (await within(granted, SOON, 'the lock')).release();
        expect(performance.now() - start).toBeLessThan(BY_MESSAGE);
      } finally {
        user.disconnect();
        await odd.close();
      }
    },
  );

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
      const error = await refusal(promise);
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
        for (const left of await redis.keys(`${prefix}*`)) {
          const ttl = await redis.pttl(left);
          expect(ttl).not.toBe(-1);
          expect(ttl).toBeLessThan(REST);
        }
      },
    );

    test.each(foreignKeys)(
      '(…{a}%s) since it was locked: release and renewal leave it alone, and nothing hangs',
      async (key) => {
        const lock = await first.service.acquire('a');
        await redis.del(`${prefix}:{a}${key}`);
        await put(key);
        await expectTypedError(second.service.acquire('a'));
        await pause(RENEWAL + 200);
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

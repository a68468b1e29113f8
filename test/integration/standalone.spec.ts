/** The entry for programs without Nest. */
import { Redis } from 'ioredis';
import { createFairLock, type StandaloneFairLock } from 'nestjs-fair-lock/standalone';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { waiting } from '../support/requests.js';
import { deferred, SOON, within } from '../support/waiting.js';

describe('createFairLock', () => {
  const options = { redis: redisUrl(), keyPrefix: uniquePrefix() };
  const open: StandaloneFairLock[] = [];
  const start = async (more = {}): Promise<StandaloneFairLock> => {
    const locks = await createFairLock({ ...options, ...more });
    open.push(locks);
    return locks;
  };
  afterEach(() => Promise.all(open.splice(0).map((locks) => locks.close())));

  test('gives a service that serves the requests of two programs in their order', async () => {
    const [one, two] = [await start(), await start()];
    const order: string[] = [];
    const lock = await one.acquire('a');
    const served: Promise<unknown>[] = [];
    for (const [name, locks] of Object.entries({ first: two, second: one, third: two })) {
      served.push(locks.withLock('a', () => order.push(name)));
      await waiting(one, 'a', served.length);
    }
    await lock.release();
    await Promise.all(served);
    expect(order).toEqual(['first', 'second', 'third']);
  });

  test('refuses at close what is in line, lets the section end, and hands the lock on', async () => {
    const [one, two] = [await start(), await start()];
    const [begun, end] = [deferred(), deferred()];
    const section = one.withLock('a', async (lock) => {
      begun.resolve();
      await end.promise;
      return { state: lock.state, mustStop: lock.signal.aborted };
    });
    await begun.promise;
    const refused = expect(one.acquire('a')).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    await waiting(two, 'a', 1);
    const closed = one.close();
    await refused;
    const next = two.acquire('a');
    await waiting(two, 'a', 1);
    end.resolve();
    expect(await section).toEqual({ state: 'held', mustStop: false });
    await within(closed, SOON, 'close()');
    await (await next).release();
  });

  test('has two connections, however many locks it holds and waits for', async () => {
    const { hostname: host, port } = new URL(redisUrl());
    const connectionName = uniquePrefix();
    const locks = await start({ redis: { host, port: Number(port), connectionName } });
    const held = await Promise.all(Array.from({ length: 20 }, (_, i) => locks.acquire(`a${i}`)));
    const other = await start();
    const waits = held.map(({ key }) => other.acquire(key));
    await waiting(locks, 'a19', 1);
    const admin = new Redis(redisUrl());
    const lines = String(await admin.client('LIST')).split('\n');
    admin.disconnect();
    expect(lines.filter((line) => line.includes(` name=${connectionName} `))).toHaveLength(2);
    await Promise.all(held.map((lock) => lock.release()));
    for (const wait of waits) await (await wait).release();
  });

  test('closes at the end of a block with `await using`', async () => {
    let left: StandaloneFairLock;
    {
      await using locks = await createFairLock(options);
      left = locks;
      expect(await locks.withLock('a', (lock) => Promise.resolve(lock.state))).toBe('held');
    }
    await expect(left.acquire('a')).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
  });

  test('has no warning for a short wait, which its caller chose', async () => {
    const warnings: string[] = [];
    await using locks = await createFairLock({ ...options, waitTime: 10_000 }, (message) =>
      warnings.push(message),
    );
    await locks.withLock('a', () => Promise.resolve());
    expect(warnings.filter((warning) => warning.includes('waitTime'))).toEqual([]);
  });
});

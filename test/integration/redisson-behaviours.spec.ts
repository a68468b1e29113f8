import { Redis } from 'ioredis';
import { LockTimeoutError } from '../../lib/core/errors/errors.js';
import { type Grant } from '../../lib/core/port/lock-store.js';
import { type RedissonLockStore } from '../../lib/stores/redisson/redisson-lock-store.js';
import { TestRequest, type TestRequestOptions } from '../contract/store-under-test.js';
import { databaseUrl, readLock, startStore } from '../support/redisson.js';
import { Stopwatch } from '../support/stopwatch.js';
import { deferred, pause } from '../support/waiting.js';
import { ask as askStore } from '../support/ask.js';

/** What Redisson documents, and pins by tests of its own, about its fair lock. */
describe('the documented behaviour of the fair lock', () => {
  const url = databaseUrl(4);
  let redis: Redis;
  let stores: RedissonLockStore[];

  beforeAll(async () => {
    redis = new Redis(url);
    stores = await Promise.all(Array.from({ length: 4 }, () => startStore({ redis: url })));
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    redis.disconnect();
  });
  beforeEach(() => redis.flushdb());

  const store = (i: number): RedissonLockStore => stores[i % stores.length] as RedissonLockStore;
  const ask = (i: number, key: string, options: TestRequestOptions): TestRequest =>
    new TestRequest(store(i), key, options);
  /** Without the time limit of `TestRequest`, which is shorter than these waits. */
  const acquire = (i: number, key: string, options: TestRequestOptions): Promise<Grant> =>
    askStore(store(i), { key, waitTime: 60_000, maxQueue: Infinity, label: 'test', ...options });

  test('the deadlines of the line do not drift away while three askers churn through fifty waits of 500 ms', async () => {
    const lease = 30_000;
    const wait = 500;
    const askers = 3;
    const holder = await ask(0, 'churn', { leaseTime: lease }).granted();
    let waits = 0;
    let watched = 0;
    let leaseEnd = Infinity;
    const churn = async (i: number): Promise<void> => {
      await pause(i * 50); // staggered, so that they leave from the head, from the middle and from the end
      while (waits < 50) {
        waits += 1;
        const asked = ask(i, 'churn', { waitTime: wait, leaseTime: lease });
        // On a busy machine its time may be over before it is in line.
        await Promise.race([asked.queued(), asked.settled()]).catch(() => undefined);
        await watch();
        expect(await asked.refused()).toBeInstanceOf(LockTimeoutError);
      }
    };
    // A waiter is expected to be served when the lease ends, or one wait later for each ahead of it.
    const watch = async (): Promise<void> => {
      // The lease ends once: of all answers to how much is left, the one that came soonest shows best when.
      leaseEnd = Math.min(leaseEnd, (await redis.pttl('churn')) + Date.now());
      for (const deadline of Object.values((await readLock(redis, 'churn')).deadlines)) {
        watched += 1;
        expect(Number(deadline)).toBeLessThanOrEqual(leaseEnd + askers * wait + ROUNDING);
      }
    };
    await Promise.all(Array.from({ length: askers }, (_, i) => churn(i + 1)));
    expect(watched).toBeGreaterThan(50);

    // One that is never seen again does not stand further away either.
    const last = ask(1, 'churn', { waitTime: 30_000, leaseTime: lease });
    await last.queued();
    const [deadline] = Object.values((await readLock(redis, 'churn')).deadlines);
    expect(Number(deadline)).toBeLessThanOrEqual(Date.now() + lease + 30_000);
    last.abort();
    await holder.release();
  });

  test('eight waiters with leases of a second, never given back, are served in order', async () => {
    const served: number[] = [];
    const start = performance.now();
    const watch = new Stopwatch();
    const waits: Promise<void>[] = [];
    for (let i = 0; i < 8; i += 1) {
      const queued = deferred<number>();
      const granted = acquire(i, 'leases', { waitTime: 12_000, leaseTime: 1_000, onQueued: queued.resolve });
      waits.push(granted.then(() => void served.push(i)));
      await (i === 0 ? granted : queued.promise);
    }
    await Promise.all(waits);
    expect(served).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    // Seven leases have ended since the first grant; each is noticed by a timer, at once.
    expect(performance.now() - start).toBeGreaterThanOrEqual(7_000);
    expect(watch.stop()).toBeLessThan(7_000 + 7 * 250);
  });

  test('five hundred waiters on one lock are all served', async () => {
    let inside = 0;
    const one = async (i: number): Promise<void> => {
      const grant = await acquire(i, 'busy', { leaseTime: 5_000 });
      inside += 1;
      expect(inside).toBe(1);
      await pause(1);
      inside -= 1;
      await grant.release();
    };
    await Promise.all(Array.from({ length: 500 }, (_, i) => one(i)));
    expect(await redis.keys('*')).toEqual([]);
  });
});

/** Two clocks, of the same host, each rounded to whole milliseconds, and the time between reading the one and the other. */
const ROUNDING = 50;

import { Redis } from 'ioredis';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { RedissonLockStore } from '../../lib/stores/redisson/redisson-lock-store.js';
import type { Grant, LockStore } from '../../lib/core/port/lock-store.js';
import { redisUrl, startRedisServer, uniquePrefix } from '../support/redis.js';
import { Stopwatch } from '../support/stopwatch.js';
import { deferred, eventually, SOON } from '../support/waiting.js';
import { ask } from '../support/ask.js';

/** For so long after its grant nobody else gets the lock, ms. */
const KEEP = 1_500;
/** Two busy cores get a second; a heartbeat would come after 3.3 s, and a look of its own accord after 5 s. */
const PROMPT = 1_000;

const prefix = uniquePrefix();
const usual = { commandTimeout: 3_000, onWarning: () => undefined };
const STORES: [string, (url?: string) => LockStore][] = [
  [
    'redis',
    (url = redisUrl()) =>
      new RedisLockStore({
        ...usual,
        redis: url,
        keyPrefix: prefix,
        lease: 30_000,
        livenessWindow: 10_000,
      }),
  ],
  [
    'redisson',
    () =>
      new RedissonLockStore({
        ...usual,
        redis: redisUrl(),
        lockWatchdogTimeout: 30_000,
        fairLockWaitTimeout: 300_000,
      }),
  ],
];

describe.each(STORES)(
  'a kept lock, with the times that clients have by default, on the store %s',
  (kind, make) => {
    let one: LockStore;
    let other: LockStore;
    beforeAll(async () => {
      [one, other] = [make(), make()];
      await Promise.all([one.start(), other.start()]);
    });
    afterAll(() => Promise.all([one.close(), other.close()]));

    const request = { waitTime: 60_000, maxQueue: Infinity, label: 'test' };
    const inLine = async (store: LockStore, key: string): Promise<{ granted: Promise<Grant> }> => {
      const queued = deferred();
      const granted = ask(store, { ...request, key, onQueued: () => queued.resolve() });
      await queued.promise;
      return { granted };
    };

    test('the head of the line learns when the time has elapsed, long before the lease would have expired', async () => {
      const key = `${prefix}:${kind}:head`;
      const holder = await ask(one, { ...request, key, alone: true });
      const { granted } = await inLine(other, key);
      const watch = new Stopwatch();
      await holder.release(KEEP);
      const grant = await granted;
      expect(watch.stop()).toBeLessThan(KEEP + PROMPT);
      await grant.release();
    });

    test('and its release hands the lock on immediately to the one that became the head', async () => {
      const key = `${prefix}:${kind}:handoff`;
      const holder = await ask(one, { ...request, key, alone: true });
      const next = await inLine(other, key);
      const last = await inLine(one, key);
      await holder.release(KEEP);
      const grant = await next.granted;
      const watch = new Stopwatch();
      await grant.release();
      await (await last.granted).release();
      expect(watch.stop()).toBeLessThan(PROMPT);
    });
  },
);

describe('on the store redis', () => {
  const started: LockStore[] = [];
  const start = async (url?: string): Promise<LockStore> => {
    const store = STORES[0]![1](url);
    started.push(store);
    await store.start();
    return store;
  };
  afterEach(() => Promise.all(started.splice(0).map((store) => store.close())));

  test('only the client of the head is told when that is, and it alone asks then', async () => {
    const key = `${prefix}:calm`;
    // What other tests send must not come between MONITOR and its reply, which ioredis would take for it.
    const server = await startRedisServer();
    const redis = new Redis(server.url);
    const monitor = await redis.monitor();
    const seen: string[] = [];
    monitor.on('monitor', (_time: string, [command = '', ...args]: string[]) => {
      if (command === 'ping' || (/evalsha|publish/i.test(command) && args.some((arg) => arg.includes(key))))
        seen.push(/^ask|^granted/.exec(args[1] ?? '')?.[0] ?? command.toLowerCase());
    });
    const stores = await Promise.all(Array.from({ length: 8 }, () => start(server.url)));
    const [first, ...others] = stores as [LockStore, ...LockStore[]];
    const holder = await ask(first, { ...request(key), alone: true });
    const waiting: Promise<Grant>[] = [];
    const join = async (store: LockStore): Promise<void> => {
      const queued = deferred();
      waiting.push(ask(store, { ...request(key), onQueued: () => queued.resolve() }));
      await queued.promise;
    };
    for (const store of others.slice(0, 3)) await join(store);
    await redis.ping('those that wait have been seen');
    await eventually(() => seen.includes('ping'), SOON, 'the monitor');
    seen.length = 0;
    await holder.release(KEEP);
    await eventually(() => seen.length === 2, SOON, 'the message');
    expect(seen.splice(0)).toEqual(['evalsha', 'ask']);
    for (const store of others.slice(3)) await join(store);
    await eventually(() => seen.length === others.length - 3, SOON, 'the monitor to tell of those that join');
    seen.length = 0;
    const grant = await waiting[0]!;
    await redis.ping('all that was sent by now has been seen');
    await eventually(() => seen.includes('ping'), SOON, 'the monitor');
    // The head's client has asked, and has the lock. The others have no heartbeat so soon.
    expect(seen).toEqual(['evalsha', 'ping']);
    monitor.disconnect();
    redis.disconnect();
    await grant.release();
    for (const wait of waiting.slice(1)) await (await wait).release();
    await Promise.all(started.splice(0).map((store) => store.close()));
    await server.stop();
  });

  test('the head of the line learns when a kept permit is free again, and so does each that becomes the head', async () => {
    const [one, other, third] = await Promise.all([start(), start(), start()]);
    const share = { mode: 'permits', permits: 2, weight: 1 } as const;
    const permit = { ...request(`${prefix}:permit`), share };
    const [first, second] = await Promise.all([ask(one, permit), ask(one, permit)]);
    const waiting: Promise<Grant>[] = [];
    for (const store of [other, third]) {
      const queued = deferred();
      waiting.push(ask(store, { ...permit, onQueued: () => queued.resolve() }));
      await queued.promise;
    }
    const [toFirst, toSecond] = [new Stopwatch(), new Stopwatch()];
    await first.release(KEEP);
    await second.release();
    await waiting[0];
    expect(toFirst.stop()).toBeLessThan(KEEP);
    await waiting[1];
    expect(toSecond.stop()).toBeLessThan(KEEP + PROMPT);
  });
});

function request(key: string) {
  return { key, waitTime: 60_000, maxQueue: Infinity, label: 'test' };
}

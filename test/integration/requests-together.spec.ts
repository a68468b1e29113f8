import { Redis } from 'ioredis';
import type { FairLock } from '../../lib/core/holds/fair-lock.js';
import type { FairLockService } from '../../lib/core/engine/fair-lock-service.js';
import { BLOCKER_TIME } from '../support/bounds.js';
import { LONG_TIMES } from '../support/history/lab.js';
import { InProcessClients } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { inLine } from '../support/requests.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { deferred, eventually, pause, SOON } from '../support/waiting.js';

/** How long the calls wait that end together, ms. */
const WAIT_TIME = 400;

describe('requests that are made in the same moment', () => {
  let clients: InProcessClients;
  beforeEach(() => {
    clients = new InProcessClients(uniquePrefix(), LONG_TIMES);
  });
  afterEach(() => clients.close());

  const take = (service: FairLockService, count: number, key: string, served: number[]): Promise<unknown> =>
    Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const lock = await service.acquire(key);
        served.push(i);
        await lock.release();
      }),
    );

  test('are put in line by a few commands, and served in the order of the calls', async () => {
    const proxy = await TcpProxy.start(redisUrl());
    const { service } = await clients.start(proxy.url);
    const warm = await service.acquire('other');
    await warm.release();
    let commands = 0;
    const stop = proxy.listenTo(() => (commands += 1));
    const served: number[] = [];
    await take(service, 500, 'k', served);
    stop();
    await proxy.close();
    expect(served).toEqual(Array.from({ length: 500 }, (_, i) => i));
    // 2 to queue up, 8 runs of at most 64 to give back; heartbeats while it lasts.
    expect(commands).toBeLessThanOrEqual(20);
  });

  test('keep their order also where some want other terms', async () => {
    const { service } = await clients.start(redisUrl());
    const holder = await service.acquire('k');
    const order: string[] = [];
    const ask = async (name: string, options = {}): Promise<void> => {
      const lock = await service.acquire('k', options);
      order.push(name);
      await lock.release();
    };
    const asked = [
      ask('a'),
      ask('b'),
      ask('c', { leaseTime: 5_000 }),
      ask('d'),
      ask('e', { maxQueue: 10 }),
      ask('f'),
    ];
    const busy = service.tryAcquire('k');
    expect(await busy).toBeUndefined();
    await holder.release();
    await Promise.all(asked);
    expect(order.join('')).toBe('abcdef');
  });

  test('get to know their places, one behind the other, and may leave from any of them', async () => {
    const { service } = await clients.start(redisUrl());
    const { service: other } = await clients.start(redisUrl());
    const holder = await other.acquire('k');
    const leave = new AbortController();
    const places = Array.from({ length: 5 }, () => deferred<number>());
    const waits = places.map(({ resolve }, i) =>
      service
        .acquire('k', { onQueued: resolve, ...(i === 2 && { signal: leave.signal }) })
        .then((lock) => lock.release().then(() => i))
        .catch(() => 'left'),
    );
    expect(await Promise.all(places.map(({ promise }) => promise))).toEqual([0, 1, 2, 3, 4]);
    leave.abort();
    expect(await waits[2]).toBe('left');
    await holder.release();
    expect(await Promise.all(waits)).toEqual([0, 1, 'left', 3, 4]);
  });

  describe('and that end in the same moment', () => {
    let proxy: TcpProxy;
    let commands: number;
    beforeEach(async () => {
      proxy = await TcpProxy.start(redisUrl());
      proxy.listenTo(({ name }) => void (name === 'evalsha' && (commands += 1)));
    });
    afterEach(() => proxy.close());

    test('share a command if their wait time has elapsed, and each learns who holds the lock', async () => {
      const { service } = await clients.start(proxy.url);
      const { service: other } = await clients.start(redisUrl());
      const holder = await other.acquire('k', { label: 'Reports.build' });
      const queued = Array.from({ length: 100 }, () => deferred<number>());
      const began = performance.now();
      const waits = queued.map(({ resolve }) =>
        service.acquire('k', { waitTime: WAIT_TIME, onQueued: resolve }),
      );
      const ended = Promise.allSettled(waits);
      await Promise.all(queued.map(({ promise }) => promise));
      commands = 0;
      const outcomes = await ended;
      // On a busy machine Redis may answer later than that. Then the errors do not wait for it.
      const inTime = performance.now() - began < WAIT_TIME + BLOCKER_TIME;
      const blockedBy = inTime ? { holder: expect.stringContaining('Reports.build') as string } : {};
      for (const outcome of outcomes)
        expect(outcome).toMatchObject({ reason: { code: 'WAIT_TIMEOUT', blockedBy } });
      // Up to 64 together. They were made within some ms, so they end in a few turns; and a heartbeat may be due.
      expect(commands).toBeLessThanOrEqual(10);
      expect((await other.inspect('k')).queueLength).toBe(0);
      await holder.release();
    });

    test.each([
      ['readers', { mode: 'read' }],
      ['permits', { permits: 200 }],
    ] as const)('share a command if they are %s that are released', async (_, sharing) => {
      const { service } = await clients.start(proxy.url);
      const all = await Promise.all(Array.from({ length: 100 }, () => service.acquire('k', sharing)));
      commands = 0;
      await Promise.all(all.map((lock) => lock.release()));
      expect(commands).toBeLessThanOrEqual(2 + 1);
      expect(await service.isLocked('k')).toBe(false);
    });
  });

  describe('for different locks', () => {
    const LOCKS = Array.from({ length: 32 }, (_, i) => `lock-${i}`);
    let admin: Redis;
    let prefix: string;
    beforeEach(() => {
      prefix = uniquePrefix();
      clients = new InProcessClients(prefix, LONG_TIMES);
      admin = new Redis(redisUrl());
    });
    afterEach(() => admin.disconnect());

    test('take and release all of them by two commands, whether they are free or not', async () => {
      const proxy = await TcpProxy.start(redisUrl());
      const { service } = await clients.start(proxy.url);
      const { service: other } = await clients.start(redisUrl());
      const taken = await other.acquire(LOCKS[7]!);
      await (await service.acquire('warm')).release();
      let commands = 0;
      const stop = proxy.listenTo(() => (commands += 1));
      const queued = deferred<number>();
      const [waiting, ...rest] = [LOCKS[7]!, ...LOCKS.filter((key) => key !== LOCKS[7])].map((key) =>
        service.acquire(key, key === LOCKS[7] ? { onQueued: queued.resolve } : {}),
      );
      const held = await Promise.all(rest);
      expect(await queued.promise).toBe(0);
      await Promise.all(held.map((lock) => lock.release()));
      stop();
      expect(commands).toBe(2);
      await taken.release();
      await (await waiting!).release();
      await proxy.close();
      const left = await admin.keys(`${prefix}:*`);
      expect(left.filter((key) => !key.endsWith(':clients'))).toEqual([]);
    });

    test('share a command only while it stays short: heartbeats for many readers go out one by one', async () => {
      const proxy = await TcpProxy.start(redisUrl());
      // With these, heartbeats come each second.
      const quick = new InProcessClients(prefix);
      const { service } = await quick.start(proxy.url);
      const read = { mode: 'read' } as const;
      for (const key of LOCKS.slice(0, 8)) {
        await Promise.all(Array.from({ length: 100 }, () => service.acquire(key, read)));
      }
      const lengths: number[] = [];
      proxy.listenTo(({ name, args }) => void (name === 'evalsha' && lengths.push(args.length)));
      await eventually(() => lengths.length >= 8, SOON, 'a heartbeat of each lock');
      // Three words for each hold, and some for each command.
      expect(Math.max(...lengths)).toBeLessThan(400);
      await quick.close();
      await proxy.close();
    });

    test('have each their own outcome if the data of one cannot be read, is of another version, or of another type', async () => {
      const { service } = await clients.start(redisUrl());
      const hash = (key: string): string => `${prefix}:{${key}}`;
      const outcomes = async (keys: readonly string[]): Promise<string[]> => {
        const asked = await Promise.allSettled(keys.map((key) => service.acquire(key)));
        const given = asked.map(async (outcome) => {
          if (outcome.status === 'rejected') return (outcome.reason as Error).name;
          await outcome.value.release();
          return 'served';
        });
        return await Promise.all(given);
      };
      await admin.hset(hash('newer'), 'format', '99 1 write 1 - 1 0');
      await admin.hset(hash('broken'), 'format', '2 nonsense');
      expect(await outcomes(['a', 'newer', 'b', 'broken', 'c'])).toEqual([
        'served',
        'LockProtocolError',
        'served',
        'LockProtocolError',
        'served',
      ]);
      await admin.set(`${hash('foreign')}:queue`, 'text');
      await admin.set(hash('strange'), 'text');
      expect(await outcomes(['a', 'foreign', 'b', 'strange', 'c'])).toEqual([
        'served',
        'LockStoreUnavailableError',
        'served',
        'LockStoreUnavailableError',
        'served',
      ]);
      // Also for those that end together.
      const [first, second, third] = await Promise.all(['a', 'b', 'c'].map((key) => service.acquire(key)));
      await admin.del(hash('b'));
      await admin.set(hash('b'), 'text');
      await Promise.all([first!.release(), second!.release(), third!.release()]);
      expect(await admin.exists(hash('a'), hash('c'))).toBe(0);
    });
  });

  describe('and are granted together', () => {
    let proxy: TcpProxy;
    beforeEach(async () => {
      proxy = await TcpProxy.start(redisUrl());
    });
    afterEach(() => proxy.close());

    /** A holder, and in line behind it: two of one client, whose messages pass the proxy, and one of the holder's client. */
    const scene = async () => {
      const { service } = await clients.start(proxy.url);
      const { service: other } = await clients.start(redisUrl());
      const holder = await other.acquire('k');
      const leave = new AbortController();
      const first = await inLine({ service }, 'k', { signal: leave.signal });
      const second = await inLine({ service }, 'k');
      const last = await inLine({ service: other }, 'k');
      return { holder, leave, first, second, last };
    };

    /** For so long, ms, the lock does not go on to the last; then it does. */
    const expectKept = async (lock: FairLock, last: { granted: Promise<FairLock> }, ms: number) => {
      let isServed = false;
      void last.granted.then(() => (isServed = true));
      await pause(ms);
      expect([isServed, lock.state]).toEqual([false, 'held']);
      await lock.release();
      await (await last.granted).release();
    };

    test('hold the lock in turn although the message comes twice', async () => {
      const { holder, first, second, last } = await scene();
      const message = proxy.messages({ again: [100] });
      await holder.release();
      await (await first.granted).release();
      const lock = await second.granted;
      await message.hit();
      await expectKept(lock, last, 300);
    });
  });

  test('keep their place while their client tries to get the same lock again and again', async () => {
    const times = { lease: 6_000, livenessWindow: 2_000, commandTimeout: 1_000 };
    const own = new InProcessClients(uniquePrefix(), times);
    const { service } = await own.start(redisUrl());
    const holder = await (await own.start(redisUrl())).service.acquire('k');
    const waits = service.acquire('k').then((lock) => lock.release());
    const until = performance.now() + 1.5 * times.livenessWindow;
    while (performance.now() < until) {
      expect(await service.tryAcquire('k')).toBeUndefined();
      await pause(times.livenessWindow / 6);
    }
    expect((await service.inspect('k')).waiters).toMatchObject([{ live: true }]);
    await holder.release();
    await waits;
    await own.close();
  });
});

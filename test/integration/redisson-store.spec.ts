import { readFileSync } from 'node:fs';
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  type FairLockError,
  LockConfigurationError,
  LockKeyError,
  LockLostError,
  LockStoreUnavailableError,
} from '../../lib/core/errors.js';
import { type Grant } from '../../lib/core/lock-store.js';
import { RedissonLockStore } from '../../lib/stores/redisson/redisson-lock-store.js';
import { TestRequest, type TestRequestOptions, SOON } from '../contract/store-under-test.js';
import { type RedisServer, startRedisServer } from '../support/redis.js';
import { readLock, startStore, type StoreSettings } from '../support/redisson.js';
import { type ProxiedCommand, TcpProxy } from '../support/tcp-proxy.js';
import { eventually, pause } from '../support/waiting.js';

const LEASE = 3_000;
/** A third of the lease: how often a grant is renewed, and the first in line looks. */
const LOOK = LEASE / 3;
/** One with which the first in line looks every three seconds only. */
const LONG_LEASE = 30_000;
const COMMAND_TIMEOUT = 1_000;
/** For a command or two on two busy cores, ms. */
const SLACK = 500;

describe('the redisson store, when things go wrong', () => {
  let server: RedisServer;
  let proxy: TcpProxy;
  let redis: Redis;
  let stores: RedissonLockStore[];
  let warnings: string[];

  beforeAll(async () => {
    server = await startRedisServer();
    redis = new Redis(server.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });
  beforeEach(async () => {
    proxy = await TcpProxy.start(server.url);
    [stores, warnings] = [[], []];
    await redis.flushall();
  });
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await proxy.close();
  });

  /** A client behind the proxy, unless told otherwise. */
  async function client(settings: Partial<StoreSettings> = {}): Promise<RedissonLockStore> {
    const store = await startStore({
      redis: proxy.url,
      lockWatchdogTimeout: LEASE,
      commandTimeout: COMMAND_TIMEOUT,
      onWarning: (message) => warnings.push(message),
      ...settings,
    });
    stores.push(store);
    return store;
  }
  const ask = (store: RedissonLockStore, options: TestRequestOptions = {}): TestRequest =>
    new TestRequest(store, 'lock', options);
  const inLine = async (store: RedissonLockStore, options: TestRequestOptions = {}): Promise<TestRequest> => {
    const asked = ask(store, options);
    await asked.queued();
    return asked;
  };
  /** Of locks: a client also listens to a channel of its own, whose name has no brace. */
  const listeners = (count: number): Promise<void> =>
    eventually(
      async () =>
        ((await redis.pubsub('CHANNELS', 'redisson_lock__channel:{*')) as string[]).length === count,
      SOON,
      `${count} waiters to listen`,
    );
  const channelOfWaiter = async (): Promise<string> =>
    `redisson_lock__channel:{lock}:${(await readLock(redis, 'lock')).queue[0]}`;
  const isFree = async (): Promise<boolean> => (await redis.keys('*')).length === 0;

  /** Which script a command runs is known by its sha or, where Redis did not know that, its text. */
  const runs =
    (needle: RegExp) =>
    ({ name, args }: ProxiedCommand): boolean =>
      (name === 'evalsha' || name === 'eval') &&
      args.includes('lock') &&
      needle.test(args.slice(2).join(' '));
  /** Of all scripts only that of acquire says whether it tries or waits, only that of a renewal has the lease and a deadline. */
  const acquiring = runs(/ (try|wait) /);
  /** Only those of release and force release have nothing after the channel and the command that publishes. */
  const releasing = runs(/lock__channel:\{lock\} PUBLISH$/);

  describe('the place in line', () => {
    test('a live waiter whose deadline passes enters again at the end of the line, says so, and is served', async () => {
      const holder = await ask(await client({ lockWatchdogTimeout: 600 })).granted();
      const patient = await inLine(await client({ lockWatchdogTimeout: 600, fairLockWaitTimeout: 300 }), {
        waitTime: Infinity,
        label: 'OrdersService.pay',
      });
      const [before] = (await readLock(redis, 'lock')).queue;
      const younger = await inLine(await client());
      await eventually(() => warnings.length > 0, SOON, 'the warning');
      expect(warnings[0]).toContain('lost its place');
      expect(warnings[0]).toContain('OrdersService.pay');
      expect(warnings[0]).toContain('raise it here and in Java'); // fairLockWaitTimeout
      expect((await readLock(redis, 'lock')).queue.indexOf(before ?? '')).toBe(1);

      await holder.release();
      await (await younger.granted()).release();
      await (await patient.granted()).release();
    });

    test('the warning of a request with a wait time neither names a deadline that it never had nor an option without effect', async () => {
      await ask(await client()).granted();
      const patient = await inLine(await client(), { waitTime: 60_000 });
      await redis.del('redisson_lock_queue:{lock}', 'redisson_lock_timeout:{lock}');
      await eventually(() => warnings.length > 0, SOON, 'the warning');
      expect(warnings[0]).toMatch(/lost its place after \d+ ms/);
      expect(warnings[0]).toContain('or Redis lost the line');
      expect(warnings[0]).not.toMatch(/60000|fairLockWaitTimeout/);
      patient.abort();
      await patient.refused();
    });

    test('when all data are lost, the holder learns it, and the waiters enter again and are served in their order', async () => {
      const store = await client();
      const holder = await ask(store).granted();
      const waiters: TestRequest[] = [];
      for (let i = 0; i < 5; i += 1) waiters.push(await inLine(store));
      await redis.flushall();
      const at = performance.now();
      const served: number[] = [];
      await Promise.all(
        waiters.map(async (waiter, i) => {
          const grant = await waiter.granted();
          served.push(i);
          await grant.release();
        }),
      );
      expect(served).toEqual([0, 1, 2, 3, 4]);
      await eventually(() => holder.lease.state === 'lost', SOON, 'the holder to learn it');
      expect(performance.now() - at).toBeLessThan(LOOK + SLACK);
      expect(holder.lease.signal.reason).toBeInstanceOf(LockLostError);
    });

    test('a queue entry without a deadline does not wedge the lock', async () => {
      const store = await client();
      await redis.rpush('redisson_lock_queue:{lock}', '11111111-2222-3333-4444-555555555555:1');
      await (await ask(store).granted()).release();
      const holder = await ask(store).granted();
      const waiter = await inLine(store);
      await redis.lpush('redisson_lock_queue:{lock}', '11111111-2222-3333-4444-555555555555:1');
      await holder.release();
      await (await waiter.granted()).release();
      expect(await isFree()).toBe(true);
    });

    test.each(['lock', 'redisson_lock_queue:{lock}', 'redisson_lock_timeout:{lock}'])(
      'the loss of %s alone is noticed, and the line goes on',
      async (key) => {
        const [one, other] = [await client(), await client()];
        const holder = await ask(one).granted();
        const waiters = [await inLine(one), await inLine(other), await inLine(one)];
        await redis.del(key);
        if (key !== 'lock') await pause(LOOK + SLACK); // each client has looked
        await holder.release();
        const all = waiters.map(async (waiter) => (await waiter.granted()).release());
        await Promise.all(all);
        expect(await isFree()).toBe(true);
      },
    );

    test('nothing is left at rest: no key, no channel', async () => {
      const store = await client();
      const holder = await ask(store).granted();
      const [served, aborted] = [await inLine(store), await inLine(store)];
      await listeners(2);
      aborted.abort();
      await aborted.refused();
      await holder.release();
      await (await served.granted()).release();
      expect(await isFree()).toBe(true);
      await listeners(0);
    });
  });

  describe('force release by the client that holds', () => {
    /** What the client believes of its grants must be what Redis says of them. */
    const agrees = async (grants: readonly Grant[]): Promise<void> => {
      const held = grants.filter(({ lease }) => lease.state === 'held').length;
      expect([held, (await redis.hkeys('lock')).length]).toEqual([held, held]);
    };

    test.each([undefined, 60_000])(
      'a grant on its way is not entered after it was taken (lease: %p)',
      async (leaseTime) => {
        const store = await client({ redis: server.url });
        const options = leaseTime === undefined ? {} : { leaseTime };
        await (await ask(store, options).granted()).release(); // Redis knows the scripts
        await store.forceRelease('lock');
        for (let i = 0; i < 20; i += 1) {
          const asked = ask(store, options);
          await store.forceRelease('lock');
          const grant = await asked.granted();
          await agrees([grant]);
          await grant.release();
        }
      },
    );

    test('a repeated command whose first answer was lost takes only one grant, and its holder learns it', async () => {
      const store = await client();
      const holder = await ask(store, { leaseTime: 60_000 }).granted();
      const waiter = await inLine(store, { leaseTime: 60_000 });
      const other = await inLine(await client({ redis: server.url }));
      const rule = proxy.rule({ match: releasing, reply: 'cut' });
      await store.forceRelease('lock');
      expect(rule.hits).toHaveLength(1);
      const next = await waiter.granted();
      expect(holder.lease.state).toBe('lost');
      await agrees([holder, next]);
      await next.release();
      await (await other.granted()).release();
    });
  });

  describe('messages and connections', () => {
    test('with every message lost, the lock is handed on when the first in line looks', async () => {
      const [one, other] = [await client(), await client()];
      const holder = await ask(one).granted();
      const waiter = await inLine(other);
      await listeners(1);
      const dropped = proxy.dropMessages();
      const at = performance.now();
      await holder.release();
      await (await waiter.granted()).release();
      expect(performance.now() - at).toBeLessThan(LOOK + SLACK);
      expect(dropped.hits).toHaveLength(1);
    });

    test('a wake-up that was sent before the waiter listened is not missed', async () => {
      const holder = await ask(await client({ redis: server.url })).granted();
      const heal = proxy.disturb({ delay: 300 }, { role: 'subscriber' });
      const waiter = await inLine(await client({ lockWatchdogTimeout: LONG_LEASE }));
      await holder.release();
      heal();
      const at = performance.now();
      await (await waiter.granted()).release();
      expect(performance.now() - at).toBeLessThan(SLACK); // the next look would be seconds later
    });

    test('a wake-up that overtakes the answer to a question is not missed', async () => {
      const holder = await ask(await client({ redis: server.url })).granted();
      const store = await client({ lockWatchdogTimeout: LONG_LEASE });
      const waiter = await inLine(store);
      await listeners(1);
      const heal = proxy.disturb({ delay: 300 }, { role: 'commands', direction: 'toClient' });
      const asked = new Promise<void>((resolve) => {
        proxy.listenTo((command) => acquiring(command) && void command.replied.then(() => resolve()));
      });
      await redis.publish(await channelOfWaiter(), '0'); // it asks, and is told that it has to wait
      await asked;
      await holder.release();
      heal();
      const at = performance.now();
      await (await waiter.granted()).release();
      expect(performance.now() - at).toBeLessThan(300 + SLACK);
    });

    test('a waiter whose subscriber was cut is handed the lock as soon as it is back', async () => {
      const holder = await ask(await client({ redis: server.url })).granted();
      const waiter = await inLine(await client({ lockWatchdogTimeout: LONG_LEASE }));
      await listeners(1);
      await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await holder.release();
      const at = performance.now();
      await (await waiter.granted()).release();
      expect(performance.now() - at).toBeLessThan(SLACK); // the next look would be seconds later
    });

    test('an acquire whose reply is lost holds once, and is released by one release', async () => {
      const store = await client();
      await (await ask(store).granted()).release();
      const rule = proxy.rule({ match: acquiring, reply: 'cut' });
      const grant = await ask(store).granted();
      expect(rule.hits).toHaveLength(1);
      expect(Object.values(await redis.hgetall('lock'))).toEqual(['1']);
      await grant.release();
      expect(await isFree()).toBe(true);
    });

    test('a release whose reply is lost is repeated, and releases only once', async () => {
      const store = await client();
      const holder = await ask(store).granted();
      const waiter = await inLine(await client());
      let released = false;
      const rule = proxy.rule({ match: (command) => released && !acquiring(command), reply: 'cut' });
      released = true;
      await holder.release();
      expect(rule.hits).toHaveLength(1);
      const grant = await waiter.granted();
      expect(grant.lease.state).toBe('held');
      expect(await redis.exists('lock')).toBe(1);
      await grant.release();
    });

    test.each([100, 2_000])(
      'a copy of an acquire that arrives %i ms later leaves nothing behind',
      async (late) => {
        const store = await client();
        await (await ask(store).granted()).release();
        const rule = proxy.rule({ match: acquiring, reply: 'cut', again: [late] });
        await (await ask(store).granted()).release();
        await eventually(() => rule.answersToCopies.length === 1, SOON, 'the copy to run');
        // What a copy took within its deadline is given back as soon as that has passed.
        await eventually(isFree, COMMAND_TIMEOUT + SLACK, 'the lock to be free');
        await pause(100);
        expect(await isFree()).toBe(true);
      },
    );

    test('a hold that is lost by the clock of this host only is given back when its section stops', async () => {
      const store = await client({ lockWatchdogTimeout: LONG_LEASE });
      const holder = await ask(store).granted();
      const realNow = Date.now.bind(Date);
      const clock = jest.spyOn(Date, 'now').mockImplementation(() => realNow() + 3_600_000);
      expect(holder.lease.state).toBe('lost');
      clock.mockRestore();
      expect(await redis.exists('lock')).toBe(1);
      await holder.release();
      expect(await isFree()).toBe(true);
    });

    test('a lease that is shorter than any answer is an error, not an endless attempt', async () => {
      const store = await client();
      const heal = proxy.disturb({ delay: 150 }, { role: 'commands', direction: 'toClient' });
      for (const waitTime of [0, Infinity]) {
        const error = await ask(store, { waitTime, leaseTime: 100 }).refused();
        expect(error).toBeInstanceOf(LockStoreUnavailableError);
        expect((error as FairLockError).details).toContain('its lease of 100 ms');
      }
      heal();
      await eventually(isFree, SOON, 'the lock to be free');
    });

    test('a server that swallows everything: a new request fails in time, a holder is lost before its lease ends', async () => {
      const store = await client();
      const holder = await ask(store).granted();
      const heal = proxy.blackHole();
      const at = performance.now();
      const refused = await new TestRequest(store, 'other', {}).refused();
      expect(refused).toBeInstanceOf(LockStoreUnavailableError);
      expect(performance.now() - at).toBeLessThan(COMMAND_TIMEOUT + SLACK);
      await eventually(() => holder.lease.state === 'lost', SOON, 'the holder to be lost');
      expect(await redis.exists('lock')).toBe(1); // not before
      heal();
      await eventually(isFree, LEASE + SLACK, 'the leases to end');
    });

    test('waiters survive a restart of the connection and keep their order', async () => {
      const store = await client();
      const holder = await ask(await client({ redis: server.url })).granted();
      const waiters = [await inLine(store), await inLine(store), await inLine(store)];
      await proxy.refuse();
      proxy.cut();
      await pause(300);
      await proxy.listen();
      await holder.release();
      const served: number[] = [];
      await Promise.all(
        waiters.map(async (waiter, i) => {
          const grant = await waiter.granted();
          served.push(i);
          await grant.release();
        }),
      );
      expect(served).toEqual([0, 1, 2]);
      expect(warnings).toEqual([]);
    });

    test('in full memory a new request is refused with a typed error; release, renewal and leaving work', async () => {
      const store = await client();
      const holder = await ask(store).granted();
      const [first, second, leaver] = [await inLine(store), await inLine(store), await inLine(store)];
      await redis.config('SET', 'maxmemory', '1');
      try {
        const error = await new TestRequest(store, 'new', {}).refused();
        expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', failure: 'out-of-memory' });
        await pause(1.5 * LEASE);
        expect(holder.lease.state).toBe('held');
        leaver.abort();
        await leaver.refused();
        await eventually(async () => (await readLock(redis, 'lock')).queue.length === 2, SOON, 'it to leave');
        await holder.release();
        await (await first.granted()).release();
        await (await second.granted()).release();
      } finally {
        await redis.config('SET', 'maxmemory', '0');
      }
    });
  });

  test('a user with no more rights than the documentation lists can do everything', async () => {
    const page = readFileSync(new URL('../../docs/redisson.md', import.meta.url), 'utf8');
    const [rule = ''] = /ACL SETUSER clerk [^`]*/.exec(page) ?? [];
    const rights = rule.split(/\s+/).filter((word) => word.startsWith('+'));
    expect(rights).toContain('+evalsha');
    await redis.call(
      ...(['ACL', 'SETUSER', 'clerk', 'reset', 'on', '>secret', '~lock', '~redisson_lock_*'] as const),
      ...['&redisson_lock__channel:*', '-@all', ...rights],
    );
    const user = { redis: server.url.replace('//', '//clerk:secret@') };
    const [one, other] = [await client(user), await client(user)];
    const holder = await ask(one).granted();
    const [first, second, leaver] = [await inLine(other), await inLine(other), await inLine(one)];
    await listeners(3);
    expect(await other.inspect('lock')).toMatchObject({ queueLength: 3 });
    leaver.abort();
    await leaver.refused();
    await pause(1.5 * LOOK); // renewed
    expect(holder.lease.state).toBe('held');
    await holder.release();
    await first.granted();
    expect(await one.forceRelease('lock')).toBe(true);
    await (await second.granted()).release();
    expect(await isFree()).toBe(true);
    expect(warnings).toEqual([]);
  });

  describe('at start', () => {
    test('nothing is connected before', async () => {
      const made: Redis[] = [];
      const store = new RedissonLockStore({
        redis: () => {
          const connection = new Redis(server.url, { lazyConnect: true });
          made.push(connection);
          return connection;
        },
        lockWatchdogTimeout: LEASE,
        fairLockWaitTimeout: 300_000,
        commandTimeout: COMMAND_TIMEOUT,
        onWarning: () => undefined,
      });
      stores.push(store);
      const states = (): string[] => made.map(({ status }) => status);
      expect(states()).toEqual(['wait', 'wait']);
      await store.start();
      expect(states()).toEqual(['ready', 'ready']);
    });

    test('a store that was never started closes, and one that is asked before connects', async () => {
      const options = {
        redis: server.url,
        lockWatchdogTimeout: LEASE,
        fairLockWaitTimeout: 300_000,
        commandTimeout: COMMAND_TIMEOUT,
        onWarning: () => undefined,
      };
      await new RedissonLockStore(options).close();
      const store = new RedissonLockStore(options);
      stores.push(store);
      expect(await store.inspect('lock')).toMatchObject({ queueLength: 0 });
      await (await ask(store).granted()).release();
    });

    const userWith = async (...rules: string[]): Promise<string> => {
      await redis.call('ACL', 'SETUSER', 'clerk', 'reset', 'on', '>secret', ...rules);
      return server.url.replace('//', '//clerk:secret@');
    };

    test('an operator is told nothing where all is well, and nothing is left in Redis', async () => {
      await client({ redis: server.url });
      expect(warnings).toEqual([]);
      expect(await isFree()).toBe(true);
    });

    test('an operator is told of eviction and of a replica', async () => {
      await redis.config('SET', 'maxmemory', '100mb');
      await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
      await redis.replicaof('127.0.0.1', '1');
      try {
        await client({ redis: server.url });
        expect(warnings.join('\n')).toMatch(/evicts keys.*allkeys-lru.*is a read-only replica/s);
      } finally {
        await redis.replicaof('NO', 'ONE');
        await redis.config('SET', 'maxmemory', '0');
        await redis.config('SET', 'maxmemory-policy', 'noeviction');
      }
    });

    test('an operator is told of missing rights, by their names', async () => {
      await client({ redis: await userWith('+@all', '-lpos', '-publish', '~*', '&*') });
      await client({ redis: await userWith('+@all', '~order:*', '&*') });
      await client({ redis: await userWith('+@all', '~*', '&other:*') });
      expect(warnings[0]).toMatch(/lacks rights.*\+lpos, \+publish.*docs\/redisson\.md/);
      expect(warnings[1]).toContain('~redisson_lock_*');
      expect(warnings[2]).toContain('&redisson_lock__channel:*');
      expect(warnings.join()).not.toContain('secret');
    });
  });

  describe('what cannot work', () => {
    test('a client with a keyPrefix is refused with a sentence: Java would not find its locks', () => {
      const make = (): RedissonLockStore =>
        new RedissonLockStore({
          redis: { host: '127.0.0.1', port: server.port, keyPrefix: 'app:' },
          lockWatchdogTimeout: LEASE,
          fairLockWaitTimeout: 300_000,
          commandTimeout: COMMAND_TIMEOUT,
          onWarning: () => undefined,
        });
      expect(make).toThrow(LockConfigurationError);
      expect(make).toThrow(/keyPrefix "app:"/);
    });

    test('names under which Redisson keeps its waiters are refused', async () => {
      const store = await client();
      for (const name of ['redisson_lock_queue:{a}', 'redisson_lock_timeout:{a}']) {
        expect(await new TestRequest(store, name, {}).refused()).toBeInstanceOf(LockKeyError);
      }
    });
  });
});

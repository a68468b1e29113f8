import { LockLostError } from '../../lib/core/errors/errors.js';
import { type Grant } from '../../lib/core/port/lock-store.js';
import { serve, type TestRequest } from '../contract/store-under-test.js';
import { readLock } from '../support/redisson.js';
import { Stopwatch } from '../support/stopwatch.js';
import { eventually, pause, SOON } from '../support/waiting.js';
import { LEASE, LOOK, SLACK, releasing, ask, inLine, RedissonScene } from './redisson-scene.js';

describe('the line of the redisson store, when things go wrong', () => {
  const scene = new RedissonScene();

  describe('the place in line', () => {
    test('followers of a leader keep their order for as long as it leads, without a warning', async () => {
      const settings = { lockWatchdogTimeout: 1_500, fairLockWaitTimeout: 2_000 };
      const candidate = async (): Promise<TestRequest> =>
        inLine(await scene.client(settings), { waitTime: Infinity });
      const leader = await ask(await scene.client(settings)).granted();
      const followers = [await candidate(), await candidate()];
      const { queue } = await readLock(scene.redis, 'lock');
      await pause(6_000); // more than the lease and all their wait times
      expect((await readLock(scene.redis, 'lock')).queue).toEqual(queue);
      await leader.release();
      for (const follower of followers) await (await follower.granted()).release();
      expect(scene.warnings.filter((warning) => warning.includes('lost its place'))).toEqual([]);
    });

    test('a live waiter that was dropped as dead enters again at the end of the line, says so, and is served', async () => {
      const holder = await ask(await scene.client()).granted();
      const patient = await inLine(await scene.client(), { waitTime: Infinity, label: 'OrdersService.pay' });
      const [before] = (await readLock(scene.redis, 'lock')).queue;
      const younger = await inLine(await scene.client());
      await scene.redis.zadd('redisson_lock_timeout:{lock}', 1, before!); // a client whose clock is ahead finds the same
      expect(await scene.warning('lost its place')).toContain('OrdersService.pay');
      expect((await readLock(scene.redis, 'lock')).queue.indexOf(before ?? '')).toBe(1);

      await holder.release();
      await (await younger.granted()).release();
      await (await patient.granted()).release();
    });

    test('a request that gives up in an outage of more than a lease leaves when the connection is back', async () => {
      const lease = 1_200;
      const brief = await scene.client({ lockWatchdogTimeout: lease, commandTimeout: 1_000 });
      const holder = await ask(await scene.client({ redis: scene.server.url })).granted();
      const waiters = [await inLine(brief), await inLine(brief), await inLine(brief)];
      await scene.proxy.refuse();
      scene.proxy.cut();
      for (const waiter of waiters) waiter.abort();
      for (const waiter of waiters) await waiter.refused();
      await pause(1.5 * lease);
      expect((await readLock(scene.redis, 'lock')).queue).toHaveLength(3);
      await scene.proxy.listen();
      await eventually(
        async () => (await readLock(scene.redis, 'lock')).queue.length === 0,
        SOON,
        'them to leave',
      );
      await holder.release();
    });

    test('the warning names no deadline that a request never had, nor an option without effect', async () => {
      await ask(await scene.client()).granted();
      const patient = await inLine(await scene.client(), { waitTime: 60_000 });
      await scene.redis.del('redisson_lock_queue:{lock}', 'redisson_lock_timeout:{lock}');
      const warning = await scene.warning('lost its place');
      expect(warning).toMatch(/lost its place after \d+ ms/);
      expect(warning).toContain('or Redis lost the queue');
      expect(warning).not.toMatch(/60000|fairLockWaitTimeout/);
      patient.abort();
      await patient.refused();
    });

    test('when all data are lost, the holder learns it, and the waiters enter again and are served in their order', async () => {
      const store = await scene.client();
      const holder = await ask(store).granted();
      const waiters: TestRequest[] = [];
      for (let i = 0; i < 5; i += 1) waiters.push(await inLine(store));
      await scene.redis.flushall();
      const watch = new Stopwatch();
      expect(await serve(waiters)).toEqual([0, 1, 2, 3, 4]);
      await eventually(() => holder.lease.state === 'lost', SOON, 'the holder to learn it');
      expect(watch.stop()).toBeLessThan(LOOK + SLACK);
      expect(holder.lease.signal.reason).toBeInstanceOf(LockLostError);
    });

    test('nothing is left at rest: no key, no channel', async () => {
      const store = await scene.client();
      const holder = await ask(store).granted();
      const [served, aborted] = [await inLine(store), await inLine(store)];
      await scene.listeners(2);
      aborted.abort();
      await aborted.refused();
      await holder.release();
      await (await served.granted()).release();
      expect(await scene.isFree()).toBe(true);
      await scene.listeners(0);
    });
  });

  test('a waiter whose process is gone is shown without a sign of life, and each waiter with its deadline', async () => {
    const [one, other] = [await scene.client({ redis: scene.server.url }), await scene.client()];
    const holder = await ask(one).granted();
    await inLine(one, { waitTime: 20_000 });
    await inLine(other, { waitTime: 60_000 });
    const shown = async (): Promise<boolean[]> => {
      const { waiters } = await one.inspect('lock');
      const [first, second] = waiters.map(({ deadlineLeft = 0 }) => deadlineLeft);
      expect(first).toBeLessThanOrEqual(LEASE + 20_000);
      expect(first).toBeGreaterThan(20_000 - SLACK);
      expect(second! - first!).toBe(60_000);
      return waiters.map(({ live }) => live);
    };
    expect(await shown()).toEqual([true, true]);
    await scene.proxy.refuse();
    scene.proxy.cut(); // as if it were killed
    await eventually(async () => !(await shown())[1], SOON, 'the second to be missed');
    expect(await shown()).toEqual([true, false]);
    await scene.proxy.listen();
    await holder.release();
  });

  describe('force release by the client that holds', () => {
    /** What the client believes of its grants must be what Redis says of them. */
    const agrees = async (grants: readonly Grant[]): Promise<void> => {
      const held = grants.filter(({ lease }) => lease.state === 'held').length;
      expect([held, (await scene.redis.hkeys('lock')).length]).toEqual([held, held]);
    };

    test.each([undefined, 60_000])(
      'a grant on its way is not entered after it was taken (lease: %p)',
      async (leaseTime) => {
        const store = await scene.client({ redis: scene.server.url });
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
      const store = await scene.client();
      const holder = await ask(store, { leaseTime: 60_000 }).granted();
      const waiter = await inLine(store, { leaseTime: 60_000 });
      const other = await inLine(await scene.client({ redis: scene.server.url }));
      const rule = scene.proxy.rule({ match: releasing, reply: 'cut' });
      await store.forceRelease('lock');
      expect(rule.hits).toHaveLength(1);
      const next = await waiter.granted();
      expect(holder.lease.state).toBe('lost');
      await agrees([holder, next]);
      await next.release();
      await (await other.granted()).release();
    });
  });
});

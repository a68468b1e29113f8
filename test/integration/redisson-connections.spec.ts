import { jest } from '@jest/globals';
import {
  type FairLockError,
  LockConfigurationError,
  LockStoreUnavailableError,
} from '../../lib/core/errors/errors.js';
import { serve, TestRequest } from '../contract/store-under-test.js';
import { readLock } from '../support/redisson.js';
import { Stopwatch, timeUntil } from '../support/stopwatch.js';
import { eventually, pause, SOON, within } from '../support/waiting.js';
import {
  LEASE,
  LOOK,
  LONG_LEASE,
  COMMAND_TIMEOUT,
  SLACK,
  acquiring,
  ask,
  inLine,
  RedissonScene,
} from './redisson-scene.js';

describe('messages and connections of the redisson store, when things go wrong', () => {
  const scene = new RedissonScene();

  /** It has the lock soon: the next look would be seconds later. */
  const expectWoken = async (waiter: TestRequest, bound = SLACK): Promise<void> => {
    const watch = new Stopwatch();
    await (await waiter.granted()).release();
    expect(watch.stop()).toBeLessThan(bound);
  };

  test('with every message lost, the lock is handed on when the first in line looks', async () => {
    const [one, other] = [await scene.client(), await scene.client()];
    const holder = await ask(one).granted();
    const waiter = await inLine(other);
    await scene.listeners(1);
    const dropped = scene.proxy.dropMessages();
    const watch = new Stopwatch();
    await holder.release();
    await (await waiter.granted()).release();
    expect(watch.stop()).toBeLessThan(LOOK + SLACK);
    expect(dropped.hits).toHaveLength(1);
  });

  test.each(['fair-lock:{42}', 'fair-lock:{', 'fair-lock:x{y}'])(
    'the channel of a waiter for %j is no channel of a process: its message wakes it, and query does not ask it',
    async (name) => {
      const [one, other] = [await scene.client(), await scene.client({ lockWatchdogTimeout: LONG_LEASE })];
      const holder = await new TestRequest(one, name, {}).granted();
      const waiter = new TestRequest(other, name, {});
      await waiter.queued();
      await scene.listeners(1, 'fair-lock:*{*');
      expect((await one.peers.askAll('{}', 100)).missing).toBe(1); // no engine answers for the other client
      await holder.release();
      await expectWoken(waiter);
    },
  );

  test('a wake-up that was sent before the waiter listened is not missed', async () => {
    const holder = await ask(await scene.client({ redis: scene.server.url })).granted();
    const heal = scene.proxy.disturb({ delay: 300 }, { role: 'subscriber' });
    const waiter = await inLine(await scene.client({ lockWatchdogTimeout: LONG_LEASE }));
    await holder.release();
    heal();
    await expectWoken(waiter);
  });

  test('a wake-up that overtakes the answer to a question is not missed', async () => {
    const holder = await ask(await scene.client({ redis: scene.server.url })).granted();
    const store = await scene.client({ lockWatchdogTimeout: LONG_LEASE });
    const waiter = await inLine(store);
    await scene.listeners(1);
    const heal = scene.proxy.disturb({ delay: 300 }, { role: 'commands', direction: 'toClient' });
    const asked = new Promise<void>((resolve) => {
      scene.proxy.listenTo((command) => acquiring(command) && void command.replied.then(() => resolve()));
    });
    await scene.redis.publish(await scene.channelOfWaiter(), '0'); // it asks, and is told that it has to wait
    await asked;
    await holder.release();
    heal();
    await expectWoken(waiter, 300 + SLACK);
  });

  test('a waiter whose subscriber was cut is handed the lock as soon as it is back', async () => {
    const holder = await ask(await scene.client({ redis: scene.server.url })).granted();
    const waiter = await inLine(await scene.client({ lockWatchdogTimeout: LONG_LEASE }));
    await scene.listeners(1);
    await scene.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await holder.release();
    await expectWoken(waiter);
  });

  test('a subscriber that no longer gets answers is found by the next waiter, and replaced', async () => {
    const waiting = await scene.client({ lockWatchdogTimeout: LONG_LEASE });
    const other = await scene.client({ redis: scene.server.url });
    const silent = scene.proxy.rule({ match: ({ name }) => name === 'subscribe', reply: 'lost' });
    const holder = await ask(other).granted();
    const waiter = await inLine(waiting);
    await silent.hit();
    const again = new Promise<void>((resolve) => {
      scene.proxy.listenTo(({ name, replied }) => name === 'subscribe' && void replied.then(() => resolve()));
    });
    await within(again, SOON, 'the next subscription');
    await scene.listeners(1);
    await holder.release();
    await expectWoken(waiter);
  });

  test('an acquire whose reply is lost holds once, and is released by one release', async () => {
    const store = await scene.client();
    await (await ask(store).granted()).release();
    const rule = scene.proxy.rule({ match: acquiring, reply: 'cut' });
    const grant = await ask(store).granted();
    expect(rule.hits).toHaveLength(1);
    expect(Object.values(await scene.redis.hgetall('lock'))).toEqual(['1']);
    await grant.release();
    expect(await scene.isFree()).toBe(true);
  });

  test('a release whose reply is lost is repeated, and releases only once', async () => {
    const store = await scene.client();
    const holder = await ask(store).granted();
    const waiter = await inLine(await scene.client());
    let released = false;
    const rule = scene.proxy.rule({ match: (command) => released && !acquiring(command), reply: 'cut' });
    released = true;
    await holder.release();
    expect(rule.hits).toHaveLength(1);
    const grant = await waiter.granted();
    expect(grant.lease.state).toBe('held');
    expect(await scene.redis.exists('lock')).toBe(1);
    await grant.release();
  });

  test.each([100, 2_000])(
    'a copy of an acquire that arrives %i ms later leaves nothing behind',
    async (late) => {
      // A lease that outlasts this test: what the copy took is given back, and does not expire.
      const store = await scene.client({ lockWatchdogTimeout: 2 * SOON });
      await (await ask(store).granted()).release();
      const rule = scene.proxy.rule({ match: acquiring, reply: 'cut', again: [late] });
      await (await ask(store).granted()).release();
      await eventually(() => rule.answersToCopies.length === 1, SOON, 'the copy to run');
      // What a late copy took is given back after a time that is as long, at most.
      await eventually(() => scene.isFree(), SOON, 'the lock to be free');
      await pause(100);
      expect(await scene.isFree()).toBe(true);
    },
  );

  test('a hold that is lost by the clock of this host only is given back when its section stops', async () => {
    const store = await scene.client({ lockWatchdogTimeout: LONG_LEASE });
    const holder = await ask(store).granted();
    const realNow = Date.now.bind(Date);
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => realNow() + 3_600_000);
    expect(holder.lease.state).toBe('lost');
    clock.mockRestore();
    expect(await scene.redis.exists('lock')).toBe(1);
    await holder.release();
    expect(await scene.isFree()).toBe(true);
  });

  test('a lease that is shorter than any answer is an error, not an endless attempt', async () => {
    const store = await scene.client();
    const heal = scene.proxy.disturb({ delay: 150 }, { role: 'commands', direction: 'toClient' });
    for (const waitTime of [0, Infinity]) {
      const error = await ask(store, { waitTime, leaseTime: 100 }).refused();
      expect(error).toBeInstanceOf(LockConfigurationError);
      expect((error as FairLockError).details).toContain('A leaseTime of 100 ms is too short for the lock');
    }
    heal();
    await eventually(() => scene.isFree(), SOON, 'the lock to be free');
  });

  test('a server that swallows everything: a new request fails in time, a holder is lost before its lease ends', async () => {
    const store = await scene.client();
    const holder = await ask(store).granted();
    const heal = scene.proxy.blackHole();
    const watch = new Stopwatch();
    const refused = await new TestRequest(store, 'other', {}).refused();
    expect(refused).toBeInstanceOf(LockStoreUnavailableError);
    expect(watch.stop()).toBeLessThan(COMMAND_TIMEOUT + SLACK);
    const left = await scene.redis.pttl('lock');
    const untilLost = await timeUntil(() => holder.lease.state === 'lost', 'the holder to be lost');
    expect(untilLost).toBeLessThan(left);
    heal();
    await eventually(() => scene.isFree(), SOON, 'the leases to end');
  });

  test('waiters survive a restart of the connection and keep their order', async () => {
    const store = await scene.client();
    const holder = await ask(await scene.client({ redis: scene.server.url })).granted();
    const waiters = [await inLine(store), await inLine(store), await inLine(store)];
    await scene.proxy.refuse();
    scene.proxy.cut();
    await pause(300);
    await scene.proxy.listen();
    await holder.release();
    expect(await serve(waiters)).toEqual([0, 1, 2]);
    // The outage itself is told, and nothing else.
    const outage = /^Redis (stopped serving locks: |serves locks again, )/;
    await scene.warning('serves locks again');
    expect(scene.warnings.filter((warning) => !outage.test(warning))).toEqual([]);
  });

  test('in full memory a new request is refused with a typed error; release, renewal and leaving work', async () => {
    const store = await scene.client();
    const holder = await ask(store).granted();
    const [first, second, leaver] = [await inLine(store), await inLine(store), await inLine(store)];
    await scene.redis.config('SET', 'maxmemory', '1');
    try {
      const error = await new TestRequest(store, 'new', {}).refused();
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', failure: 'out-of-memory' });
      await pause(1.5 * LEASE);
      expect(holder.lease.state).toBe('held');
      leaver.abort();
      await leaver.refused();
      await eventually(
        async () => (await readLock(scene.redis, 'lock')).queue.length === 2,
        SOON,
        'it to leave',
      );
      await holder.release();
      await (await first.granted()).release();
      await (await second.granted()).release();
    } finally {
      await scene.redis.config('SET', 'maxmemory', '0');
    }
  });
});

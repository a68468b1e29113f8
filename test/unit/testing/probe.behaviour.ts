import { Logger } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  FairLockModule,
  FairLockService,
  LockConfigurationError,
  LockKeyError,
  LockLostError,
  LockStoreUnavailableError,
  LockTimeoutError,
} from 'nestjs-fair-lock';
import { FairLockProbe, FairLockTestingModule, getFairLockProbeToken } from 'nestjs-fair-lock/testing';
import { deferred } from '../../support/waiting.js';
import { AppModule, CarelessOrders, Orders } from './shop.js';

/** What jest's and vitest's fake timers have in common. */
export interface FakeTimers {
  useFakeTimers(): unknown;
  useRealTimers(): unknown;
  advanceTimersByTimeAsync(ms: number): Promise<unknown>;
}

/** Real milliseconds after which a helper fails where it is meant to fail. */
const BRIEFLY = { within: 100 };

export function describeProbe(timers: FakeTimers): void {
  let module: TestingModule;
  let orders: Orders;
  let careless: CarelessOrders;
  let locks: FairLockProbe;

  beforeEach(async () => {
    module = await Test.createTestingModule({
      imports: [FairLockTestingModule.forRoot()],
      providers: [Orders, CarelessOrders],
    }).compile();
    await module.init();
    orders = module.get(Orders);
    careless = module.get(CarelessOrders);
    locks = module.get(FairLockProbe);
  });

  afterEach(async () => {
    timers.useRealTimers();
    await module.close();
  });

  describe('keysOf', () => {
    it('tells the keys that a call would take, and calls nothing', () => {
      expect(locks.keysOf(orders, 'pay', '42')).toEqual(['order:42']);
      expect(locks.keysOf(orders, 'cancel', { id: '42' })).toEqual(['order:42']);
      expect(locks.keysOf(orders, 'transfer', 'bob', 'ann')).toEqual(['account:bob', 'account:ann']);
      expect(orders.log).toEqual([]);
    });

    it('fails on a method without a lock, also where that overrides one that has it', () => {
      expect(() => locks.keysOf(orders, 'look', '42')).toThrow(LockConfigurationError);
      expect(() => locks.keysOf(careless, 'pay', '42')).toThrow('CarelessOrders.pay is not decorated');
    });

    it('fails on arguments that make no key', () => {
      expect(() => locks.keysOf(orders, 'pay', undefined as unknown as string)).toThrow(LockKeyError);
    });
  });

  describe('hold and waitForLine', () => {
    it('keep calls in line until the test lets them go', async () => {
      const held = await locks.hold('order:42');
      const paying = [orders.pay('42'), orders.pay('42')];
      await locks.waitForLine('order:42', 2);
      expect(orders.log).toEqual([]);
      await held.release();
      expect(await Promise.all(paying)).toEqual(['paid 42', 'paid 42']);
      expect(orders.log).toHaveLength(4);
    });

    it('take what keysOf tells, all of it', async () => {
      const held = await locks.hold(locks.keysOf(orders, 'transfer', 'bob', 'ann'));
      expect(held.keys).toEqual(['account:ann', 'account:bob']);
      const transfer = orders.transfer('bob', 'ann');
      await locks.waitForLine('account:ann');
      await held.release();
      await held.release();
      expect(await transfer).toBe('bob to ann');
    });

    it('wait without an end where within is Infinity', async () => {
      const held = await locks.hold('order:42');
      const inLine = locks.waitForLine('order:42', 1, { within: Infinity });
      // Node fires a timer of more than its longest one after 1 ms.
      await new Promise((resolve) => setTimeout(resolve, 10));
      const paying = orders.pay('42');
      await inLine;
      await held.release();
      expect(await paying).toBe('paid 42');
    });

    it('wait for a busy lock, and fail where it is not given back', async () => {
      const first = await locks.hold('order:42');
      await expect(locks.hold(['order:1', 'order:42'], BRIEFLY)).rejects.toThrow(
        'hold() was not granted the lock "order:42" (waited 100 ms)',
      );
      const second = locks.hold('order:42');
      await first.release();
      await (await second).release();
      // What the hold that failed had taken is free again.
      await (await locks.hold('order:1')).release();
    });

    it('fail where a call takes no lock, or another one', async () => {
      const held = await locks.hold(['order:42', 'account:ann']);
      await orders.look('42');
      await expect(locks.waitForLine('order:42', 1, BRIEFLY)).rejects.toThrow(
        'Expected 1 in the queue for "order:42"; none are waiting',
      );
      const transfer = orders.transfer('ann', 'bob');
      await expect(locks.waitForLine('order:42', 1, BRIEFLY)).rejects.toThrow(
        'none are waiting. Others are waiting for "account:ann"',
      );
      await held.release();
      await transfer;
    });
  });

  describe('lose', () => {
    it('takes the lock from a method, whose signal aborts', async () => {
      const begun = deferred();
      const counting = orders.count(begun.resolve);
      await begun.promise;
      await locks.lose('count');
      expect(await counting).toBeInstanceOf(LockLostError);
    });

    it('fails where nothing is held', async () => {
      const looking = orders.look('42');
      await expect(locks.lose('order:42')).rejects.toThrow('"order:42" cannot be lost: it is not held');
      await looking;
    });
  });

  describe('failNext', () => {
    it('refuses the next request, and only that', async () => {
      const gone = new LockStoreUnavailableError('unreachable', 'Redis is away.');
      await expect(locks.failNext('order:42', gone, () => orders.pay('42'))).rejects.toBe(gone);
      expect(orders.log).toEqual([]);
      expect(await orders.pay('42')).toBe('paid 42');
    });

    it('fails where the call does not ask for the lock, and leaves nothing behind', async () => {
      const busy = new LockTimeoutError('order:42', 0);
      await expect(locks.failNext('order:42', busy, () => orders.look('42'))).rejects.toThrow(
        'The call ended without requesting the lock "order:42"',
      );
      await expect(locks.failNext('order:42', busy, () => careless.pay('42'))).rejects.toThrow(
        'without requesting',
      );
      expect(await orders.pay('42')).toBe('paid 42');
    });
  });

  it('failNext fails where the call does not ask for the lock in time, and leaves nothing behind', async () => {
    const busy = new LockTimeoutError('order:42', 0);
    const gate = deferred();
    const stuck = () => gate.promise.then(() => Promise.reject(new RangeError('too late')));
    await expect(locks.failNext('order:42', busy, stuck, BRIEFLY)).rejects.toThrow(
      'The call did not request the lock "order:42"; none are waiting (waited 100 ms)',
    );
    gate.resolve();
    expect(await orders.pay('42')).toBe('paid 42');
  });

  it('failNext tells the error of a call that ended before it asked for the lock', async () => {
    const busy = new LockTimeoutError('order:42', 0);
    const broken = () => Promise.reject(new RangeError('no such order'));
    await expect(locks.failNext('order:42', busy, broken)).rejects.toThrow(
      'The call ended, with \'RangeError: no such order\' without requesting the lock "order:42"',
    );
  });

  describe('assertSerialized', () => {
    it('passes where all calls wait for one lock, in their order', async () => {
      const calls = [() => orders.pay('42'), () => orders.cancel({ id: '42' }), () => orders.pay('42')];
      expect(await locks.assertSerialized('order:42', calls)).toEqual(['paid 42', 'cancelled 42', 'paid 42']);
      expect(orders.log).toEqual(['pay 42 begins', 'pay 42 ends', 'pay 42 begins', 'pay 42 ends']);
    });

    it('passes where calls take the lock among others', async () => {
      const calls = [() => orders.transfer('ann', 'zoe'), () => orders.transfer('ann', 'zoe')];
      expect(await locks.assertSerialized('account:zoe', calls)).toEqual(['ann to zoe', 'ann to zoe']);
    });

    it.each([
      ['has no lock', () => orders.look('42')],
      ['overrides one that has a lock', () => careless.pay('42')],
      ['takes another lock', () => orders.pay('7')],
      ['gives up at once', () => orders.report()],
    ])('fails where a method %s', async (_, call: () => Promise<unknown>) => {
      const asserted = locks.assertSerialized('order:42', [() => orders.pay('42'), call]);
      await expect(asserted).rejects.toThrow('Call 2 ended while the test held "order:42"');
    });

    it('says with what a call ended', async () => {
      const failing = (): never => {
        throw new RangeError('no such order');
      };
      const asserted = locks.assertSerialized('order:42', [failing, failing]);
      await expect(asserted).rejects.toThrow(
        "Call 1 ended, with 'RangeError: no such order' while the test held",
      );
    });

    it('fails where a call waits for something else', async () => {
      const other = await locks.hold('order:7');
      const pay = orders.pay.bind(orders);
      const asserted = locks.assertSerialized('order:42', [() => pay('42'), () => pay('7')]);
      await locks.waitForLine('order:7');
      await other.release();
      await expect(asserted).rejects.toThrow(
        'Expected 2 calls to take the lock "order:42"; it was taken 1 time.',
      );
    });

    it('fails where a call never comes', async () => {
      const never = (): Promise<void> => new Promise(() => undefined);
      await expect(locks.assertSerialized('order:42', [never, never], BRIEFLY)).rejects.toThrow(
        'Expected 2 calls to wait for "order:42"; none are waiting (waited 100 ms)',
      );
      await expect(locks.assertSerialized('order:42', [never])).rejects.toThrow('two calls or more');
    });
  });

  describe('shared locks', () => {
    const call = () => orders.callSupplier('acme');

    it('are held in part', async () => {
      await using held = await locks.hold('api:acme', { permits: 3, weight: 2 });
      const calls = [call(), call()];
      await locks.waitForLine('api:acme', 1);
      await held.release();
      await Promise.all(calls);
      await using reading = await locks.hold(['a', 'b'], { mode: 'read' });
      expect(reading.keys).toEqual(['a', 'b']);
      await using beside = await locks.hold('a', { mode: 'read', within: 100 });
      expect(beside.keys).toEqual(['a']);
    });

    it('assertAtMost passes where the lock lets no more calls in at a time', async () => {
      const calls = [call, call, call, call, call];
      const results = ['acme', 'acme', 'acme', 'acme', 'acme'];
      expect(await locks.assertAtMost('api:acme', 3, calls)).toEqual(results);
      expect(await locks.assertAtMost('api:acme', 4, calls)).toEqual(results);
      const pay = () => orders.pay('42');
      await locks.assertAtMost('order:42', 1, [pay, pay]);
    });

    it('assertAtMost fails where it lets more in, where a call takes no lock, and where nothing could be seen', async () => {
      await expect(locks.assertAtMost('api:acme', 2, [call, call, call, call])).rejects.toThrow(
        'Expected at most 2 calls to hold the lock "api:acme" at a time; 3 held it.',
      );
      await expect(locks.assertAtMost('api:acme', 1, [call, () => orders.look('42')])).rejects.toThrow(
        'Call 2 ended while the test held "api:acme"',
      );
      for (const most of [0, 1.5, 2]) {
        await expect(locks.assertAtMost('api:acme', most, [call, call])).rejects.toThrow(
          `assertAtMost needs a whole number from 1, and more calls than that; it received ${most} and 2 calls.`,
        );
      }
    });

    it('assertExcludes passes where a writer holds the lock alone, whatever the others share', async () => {
      const [show, save] = [() => orders.show('1'), () => orders.save('1')];
      expect(await locks.assertExcludes('page:1', [save, save], [show, show])).toEqual([
        ...['saved 1', 'saved 1'],
        ...['shown 1', 'shown 1'],
      ]);
      const all = () => orders.locks.withLock('api:acme', () => 'all', { permits: 3, weight: 3 });
      expect(await locks.assertExcludes('api:acme', [all], [call])).toEqual(['all', 'acme']);
      const more = () => orders.locks.withLock('api:acme', () => 'more', { permits: 4 });
      expect(await locks.assertExcludes('api:acme', [all], [more])).toEqual(['all', 'more']);
    });

    it('assertExcludes fails where a call fits beside a writer', async () => {
      const [show, save] = [() => orders.show('1'), () => orders.save('1')];
      const some = () => orders.locks.withLock('api:acme', () => 0, { permits: 4, weight: 3, label: 'some' });
      const more = () => orders.locks.withLock('api:acme', () => 0, { permits: 4 });
      const together = (one: string, writer: string) =>
        `A call of ${one} and one of ${writer}, a writer, can`;
      for (const [key, writers, readers, message] of [
        ['page:1', [save, show], [show], together('Orders.show', 'Orders.show')],
        ['page:1', [show, show], [], together('Orders.show', 'Orders.show')],
        ['api:acme', [some], [more], together('a call without a label', 'some')],
        ['api:acme', [more], [some], together('some', 'a call without a label')],
        ['api:acme', [call], [call], together('Orders.callSupplier', 'Orders.callSupplier')],
        ['page:1', [save], [() => orders.look('1')], 'Call 2 ended while the test held "page:1"'],
        ['page:1', [save], [], 'assertExcludes needs a writer, and another call that it excludes.'],
        ['page:1', [], [show, show], 'assertExcludes needs a writer, and another call that it excludes.'],
      ] as const) {
        await expect(locks.assertExcludes(key, writers, readers)).rejects.toThrow(message);
      }
    });

    it('assertSerialized refuses them', async () => {
      await expect(locks.assertSerialized('api:acme', [call, call])).rejects.toThrow(
        'The calls share the lock "api:acme" (permits, or mode: \'read\'), so they do not exclude each other.',
      );
    });
  });

  describe('fake timers', () => {
    it('end a wait when the test says so', async () => {
      timers.useFakeTimers();
      const held = await locks.hold('order:42');
      const outcome = orders.pay('42').catch((error: unknown) => error);
      await locks.waitForLine('order:42', 1);
      await timers.advanceTimersByTimeAsync(44_999);
      await locks.waitForLine('order:42', 1);
      await timers.advanceTimersByTimeAsync(1);
      expect(await outcome).toBeInstanceOf(LockTimeoutError);
      await held.release();
    });

    it('end a lease when the test says so', async () => {
      timers.useFakeTimers();
      const lock = await module.get(FairLockService).acquire('order:42', { leaseTime: 5_000 });
      await timers.advanceTimersByTimeAsync(4_000);
      expect(lock.state).toBe('held');
      await timers.advanceTimersByTimeAsync(2_000);
      expect(lock.signal.aborted).toBe(true);
      expect(() => lock.assertHeld()).toThrow(LockLostError);
      await lock.release();
    });

    it('end the time of a kept lock when the test says so', async () => {
      timers.useFakeTimers();
      expect(await orders.refreshPrices()).toBe('refreshed');
      await timers.advanceTimersByTimeAsync(29_999);
      expect(await orders.refreshPrices()).toBeUndefined();
      await timers.advanceTimersByTimeAsync(1);
      expect(await orders.refreshPrices()).toBe('refreshed');
    });

    it('do not stop the patience of a helper', async () => {
      timers.useFakeTimers();
      await expect(locks.waitForLine('order:42', 1, BRIEFLY)).rejects.toThrow('(waited 100 ms)');
    });
  });

  it('stands in for the store of a whole application, whatever its options say', async () => {
    const builder = Test.createTestingModule({ imports: [AppModule] });
    const probe = FairLockTestingModule.replaceIn(builder);
    const app = await (await builder.compile()).init();
    const paying = app.get(Orders);
    await probe.assertSerialized('order:42', [() => paying.pay('42'), () => paying.pay('42')]);
    await app.close();
  });

  it('says at its first use that it replaced nothing: the name is of no registration, or the module was compiled before', async () => {
    const builder = Test.createTestingModule({ imports: [FairLockModule.forRoot({ store: 'memory' })] });
    const misnamed = FairLockTestingModule.replaceIn(builder, 'biling');
    const app = await (await builder.compile()).init();
    for (const probe of [misnamed, FairLockTestingModule.replaceIn(builder)]) {
      for (const use of [
        () => probe.hold('a'),
        () => probe.waitForLine('a'),
        () => probe.lose('a'),
        () => probe.failNext('a', new Error('none'), () => 1),
        () => probe.assertSerialized('a', [() => 1, () => 2]),
        () => probe.assertAtMost('a', 1, [() => 1, () => 2]),
        () => probe.assertExcludes('a', [() => 1], [() => 2]),
      ]) {
        const used = use();
        await expect(used).rejects.toThrow(LockConfigurationError);
        await expect(used).rejects.toThrow('No registration of FairLockModule uses this probe');
      }
    }
    await app.close();
  });

  it('takes the options of an application that are for a store on Redis only', async () => {
    for (const options of [
      { replicas: { min: 1 }, strict: true, maxLease: 60_000 },
      { lockWatchdogTimeout: 20_000, fairLockWaitTimeout: 5_000 },
    ]) {
      const builder = Test.createTestingModule({ imports: [FairLockTestingModule.forRoot(options)] });
      const app = await (await builder.compile()).init();
      await (await app.get<FairLockProbe>(FairLockProbe).hold('a', BRIEFLY)).release();
      await app.close();
    }
  });

  it('closes within a second under fake timers, and logs as an error what a test has left', async () => {
    const logged: unknown[] = [];
    const builder = Test.createTestingModule({ imports: [AppModule] });
    FairLockTestingModule.replaceIn(builder);
    const replaced = await (await builder.compile()).init();
    Logger.overrideLogger({ log() {}, warn() {}, error: (message: unknown) => logged.push(message) });
    for (const app of [module, replaced]) {
      timers.useFakeTimers();
      await app.get(FairLockService).acquire('left', { label: 'Orders.pay' });
      await app.close();
      timers.useRealTimers();
      expect(logged.splice(0)).toEqual([
        expect.stringMatching(/"left" although Orders\.pay is still running/),
      ]);
    }
  });

  it('watches each registration on its own', async () => {
    const builder = Test.createTestingModule({
      imports: [
        FairLockTestingModule.forRoot({ name: 'billing' }),
        FairLockModule.forRoot({ name: 'stock', store: 'memory' }),
      ],
    });
    const stock = FairLockTestingModule.replaceIn(builder, 'stock');
    const app = await (await builder.compile()).init();
    const billing = app.get<FairLockProbe>(getFairLockProbeToken('billing'));
    await using _held = await billing.hold('a');
    await (await stock.hold('a', BRIEFLY)).release();
    await app.close();
  });
}

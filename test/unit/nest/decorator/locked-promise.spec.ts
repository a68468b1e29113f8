import { tracingChannel } from 'node:diagnostics_channel';
import { Readable } from 'node:stream';
import { jest } from '@jest/globals';
import { Injectable, Logger, type OnModuleInit, StreamableFile } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  FairLocked,
  FairLockService,
  LockConfigurationError,
  LockKeyError,
  LockLostError,
  LockTimeoutError,
  type WaitDescription,
} from 'nestjs-fair-lock';
import { of } from 'rxjs';
import { deferred, within, SOON } from '../../../support/waiting.js';
import { Locked, nestWith, waiting } from '../nest.js';

interface Order {
  id: string;
}

@Injectable()
class Orders {
  readonly log: string[] = [];
  gate = deferred();
  readonly prefix = 'own';
  constructor(readonly locks: FairLockService) {}

  @FairLocked('order:<0.id>')
  async pay(order: Order, by: string): Promise<string> {
    this.log.push(`${by} in`);
    await this.gate.promise;
    this.log.push(`${by} out`);
    return `paid by ${by}`;
  }

  @FairLocked('order:<0>')
  async hold(id: string): Promise<unknown> {
    await Promise.resolve();
    const hold = this.locks.current();
    return { key: hold?.key, same: hold === this.locks.current(`order:${id}`), count: hold?.holdCount };
  }

  @FairLocked('order:<0>')
  async outer(id: string): Promise<unknown> {
    return this.hold(id);
  }

  @FairLocked()
  async fail(error: unknown): Promise<void> {
    expect(this.locks.current()?.key).toBe('Orders.fail');
    throw error;
  }

  @FairLocked(['a:<0>', 'b:<1>', 'a:<0>'])
  async both(_a: string, _b: string): Promise<readonly string[] | undefined> {
    return this.locks.current()?.keys;
  }

  @FairLocked(function (this: Orders, id: string) {
    return `${this.prefix}:${id}`;
  })
  async byFunction(_id: string): Promise<string | undefined> {
    return this.locks.current()?.key;
  }

  @FairLocked((made: unknown) => made as string)
  async byAnyFunction(made: unknown): Promise<unknown> {
    return made;
  }

  @FairLocked('busy', { waitTime: 0, onTimeout: 'skip' })
  async skipped(): Promise<string | undefined> {
    this.log.push('not skipped');
    return 'done';
  }

  @FairLocked('busy', { waitTime: 10, onTimeout: 'skip' })
  async skippedLater(): Promise<void> {
    this.log.push('not skipped');
  }

  @FairLocked('busy', {
    waitTime: 0,
    onTimeout(this: Orders, ...args: [string, number]) {
      return `${this.prefix} ${args.join(' ')}`;
    },
  })
  async replaced(_text: string, _count: number): Promise<string> {
    return 'done';
  }

  @FairLocked('other', { onTimeout: 'skip' })
  async timeoutInside(): Promise<void> {
    await this.locks.withLock('busy', () => undefined, { waitTime: 0 });
  }

  @Locked('stream')
  async promisedStream(): Promise<unknown> {
    return of(1);
  }

  @FairLocked('stream')
  async content(content: unknown): Promise<unknown> {
    return content;
  }

  @FairLocked('lost', { onLost: 'reject' })
  async lost(): Promise<string> {
    await this.locks.forceRelease('lost');
    return 'done all the same';
  }

  @FairLocked('limited', { maxQueue: 0, leaseTime: 5_000, maxHold: 4_000 })
  async limited(): Promise<number | undefined> {
    await this.gate.promise;
    return this.locks.current()?.remaining();
  }

  @FairLocked('strict', { reentrant: false })
  async strict(depth: number): Promise<void> {
    if (depth > 0) await this.strict(depth - 1);
  }
}

describe('a locked method that returns a promise', () => {
  let module: TestingModule;
  let locks: FairLockService;
  let orders: Orders;

  beforeEach(async () => {
    ({ module, locks } = await nestWith([Orders]));
    orders = module.get(Orders);
  });
  afterEach(() => module.close());

  test('runs one call after the other, in the order of the calls, where the key is the same', async () => {
    const all = ['a', 'b', 'c'].map((by) => orders.pay({ id: '1' }, by));
    await waiting(locks, 'order:1', 2);
    orders.gate.resolve();
    expect(await Promise.all(all)).toEqual(['paid by a', 'paid by b', 'paid by c']);
    expect(orders.log).toEqual(['a in', 'a out', 'b in', 'b out', 'c in', 'c out']);
  });

  test('finds its hold as the current one, also where it calls another method locked by the same key', async () => {
    expect(await orders.hold('1')).toEqual({ key: 'order:1', same: true, count: 1 });
    expect(locks.current()).toBeUndefined();
    expect(await within(orders.outer('1'), SOON, 'a nested call')).toMatchObject({ count: 2 });
  });

  test('passes on the error of the method itself, after it has released the lock', async () => {
    const error = new TypeError('its own');
    await expect(orders.fail(error)).rejects.toBe(error);
    await expect(orders.fail('not even an error')).rejects.toBe('not even an error');
    expect(await locks.isLocked('Orders.fail')).toBe(false);
  });

  test('takes several keys, each once', async () => {
    expect(await orders.both('x', 'y')).toEqual(['a:x', 'b:y']);
  });

  test('gives a key function its instance and its arguments', async () => {
    expect(await orders.byFunction('7')).toBe('own:7');
  });

  test.each([undefined, null, 5, { id: 1 }, ['a', 5], Promise.reject(new Error('no key'))])(
    'refuses %p as the work of a key function',
    async (made) => {
      await expect(orders.byAnyFunction(made)).rejects.toThrow(LockKeyError);
      await expect(orders.byAnyFunction(made)).rejects.toMatchObject({
        details: expect.stringContaining('The key function of Orders.byAnyFunction returned ') as string,
      });
    },
  );

  test('refuses an argument that makes no key, without running', async () => {
    const call = orders.pay({} as Order, 'a');
    await expect(call).rejects.toThrow(LockKeyError);
    await expect(call).rejects.toMatchObject({
      details: expect.stringContaining('of Orders.pay found undefined at <0.id>: ') as string,
    });
    expect(orders.log).toEqual([]);
  });

  describe('when the lock is busy', () => {
    let give: () => Promise<void>;
    beforeEach(async () => {
      const lock = await locks.acquire('busy', { label: 'the test' });
      give = () => lock.release();
    });
    afterEach(() => give());

    test("is skipped with onTimeout: 'skip'", async () => {
      expect(await orders.skipped()).toBeUndefined();
      expect(orders.log).toEqual([]);
      await give();
      expect(await orders.skipped()).toBe('done');
    });

    test("counts as skipped and not as a timeout with onTimeout: 'skip', and nobody is warned", async () => {
      const outcomes: unknown[] = [];
      const subscriber = {
        asyncEnd: (wait: object) => void outcomes.push((wait as WaitDescription).outcome),
      } as never;
      const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
      tracingChannel('fairlock:wait').subscribe(subscriber);
      await orders.skipped();
      await orders.skippedLater();
      await orders.replaced('a', 1);
      tracingChannel('fairlock:wait').unsubscribe(subscriber);
      expect(outcomes).toEqual(['skipped', 'skipped', 'timeout']);
      expect(warned).not.toHaveBeenCalled();
      warned.mockRestore();
    });

    test('is replaced by the onTimeout function, with the same instance and arguments', async () => {
      expect(await orders.replaced('a', 1)).toBe('own a 1');
      await give();
      expect(await orders.replaced('a', 1)).toBe('done');
    });

    test('passes on its own timeout, which happened inside', async () => {
      await expect(orders.timeoutInside()).rejects.toThrow(LockTimeoutError);
    });
  });

  test('takes its own maxQueue, leaseTime and reentrant', async () => {
    const first = orders.limited();
    await expect(orders.limited()).rejects.toMatchObject({ code: 'QUEUE_FULL' });
    orders.gate.resolve();
    expect(await first).toBeLessThanOrEqual(5_000);
    await expect(orders.strict(0)).resolves.toBeUndefined();
    await expect(orders.strict(1)).rejects.toMatchObject({ code: 'DEADLOCK' });
  });

  test("rejects when the lock was lost meanwhile, with onLost: 'reject'", async () => {
    await expect(orders.lost()).rejects.toThrow(LockLostError);
  });

  test('that promises an Observable is refused, and the lock is released', async () => {
    // To declare it would be refused, as a contradiction to `async`.
    await expect(orders.promisedStream()).rejects.toThrow(
      "@FairLocked on Orders.promisedStream: the method returned a promise of an Observable, which works only after the lock is released: drop `async`, and write @FairLocked(key, { returns: 'observable' }).",
    );
    expect(await locks.isLocked('stream')).toBe(false);
  });

  test.each([
    ['a stream of Node', () => Readable.from(['a'])],
    ['a file of a stream', () => new StreamableFile(Readable.from(['a']))],
    ['a file of a stream with a length', () => new StreamableFile(Readable.from(['a']), { length: 1 })],
  ])('that promises %s is refused, since it would be read after the release', async (_title, make) => {
    await expect(orders.content(make())).rejects.toThrow(
      /^@FairLocked on Orders\.content: the method returned a stream, which would be read after the lock was released\. /,
    );
  });

  test('that promises a generator is refused, since it would run after the release', async () => {
    const generator = (function* () {
      yield 1;
    })();
    await expect(orders.content(generator)).rejects.toThrow(
      'the method returned a generator, which would run after the lock was released: iterate it inside the method, as in [...generator].',
    );
  });

  test.each([
    ['a file of a buffer', new StreamableFile(Buffer.from('a'))],
    ['a file of a buffer, with a length of its own', new StreamableFile(Buffer.from('a'), { length: 10 })],
    ['an empty file', new StreamableFile(Buffer.alloc(0))],
    ['a response, whose status is known', new Response('a')],
  ])('may return %s', async (_title, content) => {
    expect(await orders.content(content)).toBe(content);
  });

  test('called before Nest has finished its object says so, and where to call it', async () => {
    const errors: unknown[] = [];
    const noted = (call: Promise<unknown>) => call.catch((error: unknown) => errors.push(error));
    @Injectable()
    class Prices implements OnModuleInit {
      readonly field = noted(this.load());
      constructor() {
        void noted(this.load());
      }
      async onModuleInit(): Promise<void> {
        errors.push(await this.load());
      }
      @FairLocked('prices')
      async load(): Promise<string> {
        return 'loaded';
      }
    }
    const other = await nestWith([Prices]);
    const early = expect.stringMatching(
      /^Prices\.load is locked by @FairLocked, but was called before that instance was complete, by its constructor or a field initializer: Nest injects the lock after them\. Call it in onModuleInit\(\), or later\.$/,
    ) as string;
    expect(errors).toEqual([
      expect.objectContaining({ code: 'CONFIGURATION', details: early }),
      expect.objectContaining({ code: 'CONFIGURATION', details: early }),
      'loaded',
    ]);
    await other.module.close();
  });

  test('called without its object says that it has no lock', async () => {
    const detached = orders.pay.bind(undefined as unknown as Orders);
    await expect(detached({ id: '1' }, 'a')).rejects.toThrow(LockConfigurationError);
  });
});

test.each([
  ['promise', () => ({ withLock: async () => undefined })],
  ['iterable', () => ({ acquire: async () => undefined })],
])('a method that returns a %s says so where a mock of the service never runs it', async (kind, mock) => {
  @Injectable()
  class Mocked {
    @FairLocked('k')
    async promise(): Promise<string> {
      return 'paid';
    }
    @FairLocked('k', { returns: 'iterable' })
    async *iterable(): AsyncGenerator<string> {
      yield 'paid';
    }
  }
  const builder = Test.createTestingModule({ providers: [Mocked] }).useMocker(mock);
  const mocked = (await builder.compile()).get(Mocked);
  const call = kind === 'promise' ? mocked.promise() : mocked.iterable().next();
  await expect(call).rejects.toMatchObject({
    code: 'CONFIGURATION',
    details: expect.stringMatching(/automatic mocks.*FairLockTestingModule/) as string,
  });
});

import {
  LockConfigurationError,
  LockKeyError,
  LockQueueFullError,
} from '../../../../lib/core/errors/errors.js';
import { inspect } from 'node:util';
import fc from 'fast-check';
import type { AcquireOptions, EngineDefaults } from '../../../../lib/core/options/acquire-options.js';
import { valuesOf, valuesOutside } from '../../../support/option-values.js';
import { bench, rejection, type Bench } from '../support.js';

let b: Bench;
beforeEach(() => (b = bench()));
afterEach(() => b.engine.close());

const fail = (): never => {
  throw new Error('cannot be shown');
};

/** Calls that the compiler refuses, as JavaScript may make them. */
const untyped = (value: unknown): never => value as never;

describe('a call that cannot work', () => {
  it.each([
    ['no key', undefined],
    ['null', null],
    ['a number', 42],
    ['an object', { key: 'k' }],
    ['an empty list', []],
    ['the empty string', ''],
    ['a list with the empty string', ['a', '']],
    ['a list with a number', ['a', 1]],
    ['a list with a hole', [undefined]],
    ['a symbol', Symbol('k')],
  ])('is refused with a LockKeyError before the store learns of it: %s as key', async (_, keys) => {
    for (const asked of [
      b.service.acquire(untyped(keys)),
      b.service.tryAcquire(untyped(keys)),
      b.service.withLock(untyped(keys), () => undefined),
    ]) {
      const error = await rejection(asked);
      expect(error).toBeInstanceOf(LockKeyError);
      expect(error.message).toMatch(
        /^(A lock key must be a string|A lock key is the empty string|The list of lock keys is empty)/,
      );
    }
    expect(b.store.acquires).toBe(0);
  });

  it.each<[keyof AcquireOptions, unknown]>([
    ['waitTime', -1],
    ['waitTime', NaN],
    ['waitTime', '5000'],
    ['waitTime', 5n],
    ['waitTime', -Infinity],
    ['leaseTime', 0],
    ['leaseTime', -1],
    ['leaseTime', NaN],
    ['leaseTime', Infinity],
    ['leaseTime', '1'],
    ['leaseTime', null],
    ['waitTime', null],
    ['maxQueue', null],
    ['maxHold', null],
    ['onLost', null],
    ['reentrant', null],
    ['waitTime', { [inspect.custom]: () => fail() }],
    ['maxQueue', -1],
    ['maxQueue', NaN],
    ['maxQueue', '1'],
    ['maxQueue', 1.5],
    ['leaseTime', Number.MAX_VALUE],
    ['maxHold', 0],
    ['maxHold', NaN],
    ['maxHold', -5],
    ['onLost', 'throw'],
    ['reentrant', 'yes'],
    ['label', 7],
    ['signal', {}],
    ['signal', null],
    ['signal', { aborted: false, addEventListener: () => undefined }],
    ['onQueued', 'tell me'],
  ])('is refused with a sentence that names the option: %s: %p', async (option, value) => {
    const error = await rejection(b.service.acquire('k', untyped({ [option]: value })));
    expect(error).toBeInstanceOf(LockConfigurationError);
    expect(error.message).toMatch(new RegExp(`^The lock option ${option} must be .*; it is .*\\.$`));
    expect(b.store.acquires).toBe(0);
  });

  it('that takes one key says so of a list', async () => {
    const { service } = b;
    const list = untyped(['a', 'b']);
    const calls = [
      () => service.inspect(list),
      () => service.isLocked(list),
      () => service.forceRelease(list),
      async () => service.current(list),
      async () => service.lead(list, () => undefined),
    ];
    for (const call of calls) {
      expect((await rejection(call())).message).toBe(
        'This call takes a single lock key, not a list: call it for each key.',
      );
    }
  });

  it('is refused when the options are no object', async () => {
    for (const options of [5_000, null, 'now']) {
      const error = await rejection(b.service.acquire('k', untyped(options)));
      expect(error).toBeInstanceOf(LockConfigurationError);
      expect(error.message).toMatch(/^The lock options must be an object; it is/);
    }
  });

  it('is refused with an option that does not exist', async () => {
    for (const ask of [
      () => b.service.withLock('k', () => undefined, untyped({ wait: 5_000 })),
      () => b.service.tryAcquire('k', untyped(Object.freeze({ wait: undefined }))),
    ]) {
      const error = await rejection(ask());
      expect(error).toBeInstanceOf(LockConfigurationError);
      expect(error.message).toMatch(/^Unknown lock option 'wait'\. The options are: waitTime, .*, group\.$/);
    }
    expect(b.store.acquires).toBe(0);
  });

  it('is refused when there is no section to run', async () => {
    expect(await rejection(b.service.withLock('k', untyped(undefined)))).toBeInstanceOf(
      LockConfigurationError,
    );
    expect(b.store.acquires).toBe(0);
  });

  it.each<[keyof EngineDefaults, unknown]>([
    ['waitTime', NaN],
    ['maxQueue', NaN],
    ['maxHold', 0],
    ['onLost', 'never'],
  ])('is refused when a default of the engine cannot work: %s: %p', async (option, value) => {
    b = bench({ [option]: value });
    expect(await rejection(b.service.acquire('k'))).toBeInstanceOf(LockConfigurationError);
  });

  it('of the pass-through and of current is refused too', async () => {
    expect(await rejection(b.service.inspect(untyped(1)))).toBeInstanceOf(LockKeyError);
    expect(await rejection(b.service.isLocked(untyped(1)))).toBeInstanceOf(LockKeyError);
    expect(await rejection(b.service.forceRelease(untyped(1)))).toBeInstanceOf(LockKeyError);
    expect(() => b.service.current(untyped(1))).toThrow(LockKeyError);
  });
});

/** The numbers of a call. */
const NUMBERS = ['waitTime', 'leaseTime', 'maxQueue', 'maxHold'] as const;

describe.each(NUMBERS)('the number %s of a call', (option) => {
  it('reaches the store as a whole number, never below what was asked for', async () => {
    const asked: Record<string, unknown>[] = [];
    b.store.acquire = (wait) => {
      asked.push({ ...wait });
      return Promise.reject(new LockQueueFullError(wait.key, 0));
    };
    await fc.assert(
      fc.asyncProperty(valuesOf(option), async (value) => {
        asked.length = 0;
        expect(await rejection(b.service.acquire('k', { [option]: value }))).toBeInstanceOf(
          LockQueueFullError,
        );
        const whole = value === Infinity ? value : Math.ceil(value);
        // What is left of the wait time; maxHold does not concern the store.
        if (option === 'waitTime') expect(asked[0]?.[option]).toBeLessThanOrEqual(whole);
        else if (option !== 'maxHold') expect(asked[0]?.[option]).toBe(whole);
      }),
    );
  });

  it('is refused outside its domain, before the store learns of it', async () => {
    await fc.assert(
      fc.asyncProperty(valuesOutside(option), async (value) => {
        const error = await rejection(b.service.acquire('k', untyped({ [option]: value })));
        expect(error).toBeInstanceOf(LockConfigurationError);
        expect(error.message).toMatch(new RegExp(`^The lock option ${option} must be a .* from \\d+ to `));
        expect(b.store.acquires).toBe(0);
      }),
    );
  });
});

describe('options', () => {
  it('that are undefined take the defaults', async () => {
    const options: AcquireOptions = {
      waitTime: undefined,
      leaseTime: undefined,
      signal: undefined,
      reentrant: undefined,
      maxQueue: undefined,
      maxHold: undefined,
      onLost: undefined,
      onQueued: undefined,
      label: undefined,
    };
    await (await b.service.acquire('k', options)).release();
  });

  it('may be the extremes: an endless wait, no queue', async () => {
    const lock = await b.service.acquire('k', { waitTime: Infinity, maxQueue: 0, maxHold: Infinity });
    expect(await rejection(b.service.acquire('k', { maxQueue: 0 }))).toBeInstanceOf(LockQueueFullError);
    await lock.release();
  });

  it('reach the store: what is left of the wait time, lease, queue bound, label', async () => {
    const asked: { leaseTime?: unknown }[] = [];
    const acquire = b.store.acquire.bind(b.store);
    b.store.acquire = (wait) => {
      asked.push({ ...wait });
      return acquire(wait);
    };
    const options = { waitTime: 5_000, leaseTime: 700, maxQueue: 3, label: 'Orders.pay' };
    await (await b.service.acquire('k', options)).release();
    expect(asked[0]).toMatchObject({ key: 'k', leaseTime: 700, maxQueue: 3, label: 'Orders.pay' });
    expect(asked[0]).toHaveProperty('waitTime', expect.closeTo(5_000, -2));
    await (await b.service.acquire('k')).release();
    expect(asked[1]?.leaseTime).toBeUndefined();
    expect(asked[1]).not.toHaveProperty('onQueued');
  });

  it('reach the store with a label on one line, so nobody can forge a log line', async () => {
    const lock = await b.service.acquire('k', { label: 'Orders\nERROR forged\u2028\u001b[31m' });
    expect((await b.service.inspect('k')).holder?.who).toMatch(
      /\/Orders\\u000aERROR forged\\u2028\\u001b\[31m$/,
    );
    await lock.release();
  });
});

import {
  LockConfigurationError,
  LockKeyError,
  LockQueueFullError,
} from '../../../../lib/core/errors/errors.js';
import { inspect } from 'node:util';
import fc from 'fast-check';
import type { AcquireOptions, EngineDefaults } from '../../../../lib/core/options/acquire-options.js';
import { valuesOf, valuesOutside } from '../../../support/option-values.js';
import { benchForEach, rejection } from '../support.js';

const b = benchForEach();

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
    ['waitTime', { [inspect.custom]: () => fail() }],
    ['onLost', 'throw'],
    ['onLost', null],
    ['reentrant', 'yes'],
    ['reentrant', null],
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

  it.each<[keyof EngineDefaults, unknown]>([
    ['waitTime', NaN],
    ['maxQueue', NaN],
    ['maxHold', 0],
    ['onLost', 'never'],
  ])('is refused when a default of the engine cannot work: %s: %p', async (option, value) => {
    b.renew({ [option]: value });
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
const NUMBERS = ['waitTime', 'leaseTime', 'maxQueue', 'maxHold', 'holdAtLeast'] as const;

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
        // What is left of the wait time; the store does not learn of the times of a hold.
        if (option === 'waitTime') expect(asked[0]?.[option]).toBeLessThanOrEqual(whole);
        else if (!['maxHold', 'holdAtLeast'].includes(option)) expect(asked[0]?.[option]).toBe(whole);
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
    const names = 'waitTime leaseTime signal reentrant maxQueue maxHold onLost onQueued label'.split(' ');
    const options: AcquireOptions = Object.fromEntries(names.map((name) => [name, undefined]));
    await (await b.service.acquire('k', options)).release();
  });

  it('reach the store with a label on one line, so nobody can forge a log line', async () => {
    const lock = await b.service.acquire('k', { label: 'Orders\nERROR forged\u2028\u001b[31m' });
    expect((await b.service.inspect('k')).holder?.who).toMatch(
      /\/Orders\\u000aERROR forged\\u2028\\u001b\[31m$/,
    );
    await lock.release();
  });
});

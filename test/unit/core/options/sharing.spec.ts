import fc from 'fast-check';
import { LockConfigurationError, LockKeyError } from '../../../../lib/core/errors/errors.js';
import type { AcquireOptions } from '../../../../lib/core/options/acquire-options.js';
import { type LockKeys } from '../../../../lib/core/options/lock-keys.js';
import { valuesOf, valuesOutside } from '../../../support/option-values.js';
import { benchForEach, rejection } from '../support.js';

const b = benchForEach();

const refusal = async (options: unknown, keys: unknown = 'k'): Promise<string> => {
  const error = await rejection(b.service.acquire(keys as LockKeys, options as AcquireOptions));
  expect(error).toBeInstanceOf(LockConfigurationError);
  expect(b.store.acquires).toBe(0);
  return error.details;
};

describe('permits, weight and mode', () => {
  it.each([
    [{ permits: 0 }, /^The lock option permits must be a whole number from 1 to 2147483647; it is 0\./],
    [{ permits: 2.5 }, /^The lock option permits must be .*; it is 2\.5\./],
    [{ permits: Infinity }, /^The lock option permits must be .*; it is Infinity\./],
    [{ permits: null }, /^The lock option permits must be .*; it is null\./],
    [{ permits: undefined }, /^The lock option permits must be .*, or absent; it is undefined\./],
    [{ permits: 3, weight: undefined }, /^The lock option weight must be .*, or absent; it is undefined\./],
    [{ permits: () => 3 }, /^The lock option permits must be .*; it is \[Function: permits\]\./],
    [
      { permits: 3, weight: 0 },
      /^The lock option weight must be a whole number from 1 to 2147483647; it is 0\./,
    ],
    [{ permits: 3, weight: '2' }, /^The lock option weight must be .*; it is '2'\./],
    [
      { permits: 3, weight: 4 },
      /^The lock option weight \(4\) is more than permits \(3\): there would never be enough of them\./,
    ],
    [{ weight: 1 }, /^The lock option weight is a number of permits, so it needs permits as well\./],
    [
      { mode: 'read', weight: 1 },
      /^The lock option weight is a number of permits, so it needs permits as well\./,
    ],
    [{ permits: 3, mode: 'read' }, /^The lock option permits cannot be combined with mode: 'read'/],
    [
      { mode: 'write' },
      /^The lock option mode must be 'read', or absent for a call that holds the lock alone; it is 'write'\./,
    ],
  ])('are refused where they cannot work, before anything is sent: %o', async (options, sentence) => {
    expect(await refusal(options)).toMatch(sentence);
    const own = { key: 'k', ...options };
    expect(await refusal({}, ['other', own])).toMatch(
      new RegExp(sentence.source.replace('^The lock option', "^A key's"), 's'),
    );
  });

  it('are refused if one key is shared in two ways', async () => {
    const twice =
      /^The lock key "k" appears twice with different sharing options, and a call holds it in one way only: list it once, with the options you mean\.$/;
    expect(await refusal({}, ['k', { key: 'k', permits: 2 }])).toMatch(twice);
    expect(
      await refusal({}, [
        { key: 'k', permits: 2 },
        { key: 'k', permits: 3 },
      ]),
    ).toMatch(twice);
    expect(await refusal({}, [{ key: 'k', mode: 'read' }, 'k'])).toMatch(twice);
    await (await b.service.acquire(['k', { key: 'k' }], { permits: 2 })).release();
  });

  it('are refused beside another option of a key, and without a key', async () => {
    expect(await refusal({}, [{ key: 'k', waitTime: 5 }])).toMatch(
      /^Unknown key option 'waitTime'\. The options are: key, permits, weight, mode\./,
    );
    for (const keys of [[{ permits: 2 }], [null], [{ key: 5 }]]) {
      expect(await rejection(b.service.acquire(keys as unknown as LockKeys))).toBeInstanceOf(LockKeyError);
    }
  });

  it('are refused by a store that serves one holder at a time', async () => {
    Object.assign(b.store, { noSharing: 'One holder at a time.' });
    const sentence = /^One holder at a time\.$/;
    expect(await refusal({ permits: 2 })).toMatch(sentence);
    expect(await refusal({}, ['a', { key: 'b', mode: 'read' }])).toMatch(sentence);
  });

  it('take every number of their domain, and none outside', async () => {
    await fc.assert(
      fc.asyncProperty(valuesOf('permits'), valuesOf('weight'), async (permits, weight) => {
        if (weight > permits) return;
        await (await b.service.acquire('k', { permits, weight })).release();
      }),
    );
    b.store.log.length = 0;
    await fc.assert(
      fc.asyncProperty(valuesOutside('permits'), valuesOutside('weight'), async (permits, weight) => {
        expect(await refusal({ permits })).toMatch(/ must be a whole number from 1 /);
        expect(await refusal({ permits: 2 ** 31 - 1, weight })).toMatch(/ must be a whole number from 1 /);
      }),
    );
  });
});

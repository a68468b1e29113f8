import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { type FairLockModuleOptions, LockConfigurationError } from 'nestjs-fair-lock';
import { describeDomain, type NumberOption } from '../../../../lib/core/options/option-domains.js';
import { NUMBER_OPTIONS, valuesOf, valuesOutside } from '../../../support/option-values.js';
import { resolveOptions } from '../../../../lib/setup/option-resolution.js';

const resolve = (options: object) => resolveOptions(options);
const refusal = (options: unknown): string => {
  try {
    resolveOptions(options as FairLockModuleOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(LockConfigurationError);
    return (error as Error).message;
  }
  throw new Error('was not refused');
};

/** The numbers of the module, each with options that it can stand beside. */
const BESIDE: Partial<Record<NumberOption, object>> = {
  waitTime: {},
  maxQueue: {},
  maxHold: {},
  drainTimeout: {},
  slowWait: {},
  slowHold: {},
  watchdogTimeout: { store: 'memory' },
  livenessWindow: { store: 'memory' },
  commandTimeout: { store: 'memory' },
  maxLease: { strict: true, watchdogTimeout: 2, livenessWindow: 2, commandTimeout: 0.5 },
  fairLockWaitTimeout: { store: 'redisson' },
  lockWatchdogTimeout: { store: 'redisson', commandTimeout: 0.5 },
};
const NUMBERS = Object.keys(BESIDE) as NumberOption[];

describe('the numbers of the module', () => {
  test('are all in the table of domains', () => {
    const module = [
      ...NUMBERS,
      'replicas.min',
      'replicas.timeout',
      'leaseTime',
      'holdAtLeast',
      'permits',
      'weight',
      'query.timeout',
    ];
    expect(module.sort()).toEqual([...NUMBER_OPTIONS].sort());
  });

  test.each(NUMBERS)('%s is a whole number, never below what was given', (name) => {
    fc.assert(
      fc.property(valuesOf(name), (value) => {
        // A lease or a window of 1 ms is one that no command can be below.
        if ((name === 'lockWatchdogTimeout' || name === 'maxLease') && value <= 1) return;
        const whole = value === Infinity ? value : Math.ceil(value);
        expect(resolve({ ...BESIDE[name], [name]: value })).toHaveProperty(name, whole);
      }),
    );
  });

  test.each(NUMBERS)('%s is refused outside its domain', (name) => {
    fc.assert(
      fc.property(valuesOutside(name), (value) => {
        expect(refusal({ ...BESIDE[name], [name]: value })).toMatch(
          / must be a .* from \d+ to 2147483647(, or Infinity)?; it is .*\.$/,
        );
      }),
    );
  });

  test('a third of ten seconds for a command is 3,334 ms', () => {
    expect(resolve({ commandTimeout: 10_000 / 3 }).commandTimeout).toBe(3_334);
  });

  test('those of replicas are as all others', () => {
    const times = { store: 'redis', watchdogTimeout: 2 ** 31 - 1, livenessWindow: 2 ** 31 - 1 };
    fc.assert(
      fc.property(valuesOf('replicas.min'), valuesOf('replicas.timeout'), (min, timeout) => {
        if (timeout > 2 ** 31 - 2) return; // must be below the lease
        expect(resolve({ ...times, replicas: { min, timeout } }).replicas).toEqual({
          min,
          timeout: Math.ceil(timeout),
        });
      }),
    );
    fc.assert(
      fc.property(valuesOutside('replicas.min'), (min) => {
        expect(refusal({ replicas: { min } })).toMatch(/^The option replicas must be false, or /);
      }),
    );
    fc.assert(
      fc.property(valuesOutside('replicas.timeout'), (timeout) => {
        expect(refusal({ replicas: { min: 1, timeout } })).toMatch(/^The option replicas must be false, or /);
      }),
    );
  });

  test('are in docs/configuration.md with their ranges', () => {
    const docs = readFileSync(new URL('../../../../docs/configuration.md', import.meta.url), 'utf8');
    const lines = docs.split('\n');
    for (const name of NUMBER_OPTIONS) {
      const range = describeDomain(name)
        .replace(' to 2147483647', '')
        .replace('a number of milliseconds', 'ms')
        .replace('a whole number', 'number');
      const [row = ''] = lines.filter((line) => line.startsWith(`| \`${name}\` |`));
      expect(row.replaceAll('`', '')).toContain(`| ${range}`);
    }
  });
});

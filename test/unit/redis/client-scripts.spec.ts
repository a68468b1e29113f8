import fc from 'fast-check';
import { scriptsOfClient } from '../../../lib/stores/redis/commands/client-scripts.js';
import { timing } from '../../../lib/stores/redis/commands/timing.js';
import { resolveOptions } from '../../../lib/setup/option-resolution.js';
import { valuesOf } from '../../support/option-values.js';

/** The constants at the top of a script. */
function constantsOf(lua: string): Record<string, string | undefined> {
  const [, names = '', values = ''] = /^local (.+) = (.+)\n/.exec(lua)!;
  const all = values.split(', ');
  return Object.fromEntries(names.split(', ').map((name, i) => [name, all[i]]));
}

describe('the scripts of a client', () => {
  test('begin with its times in whole milliseconds, whatever its options', () => {
    fc.assert(
      fc.property(
        valuesOf('watchdogTimeout'),
        valuesOf('livenessWindow'),
        valuesOf('commandTimeout'),
        fc.option(valuesOf('maxLease'), { nil: undefined }),
        (watchdogTimeout, livenessWindow, commandTimeout, maxLease) => {
          // The memory store takes all of these together.
          const given = { store: 'memory', watchdogTimeout, livenessWindow, commandTimeout } as const;
          const options = resolveOptions(given);
          const { watchdogTimeout: lease, livenessWindow: window, commandTimeout: limit } = options;
          const longest = maxLease && Math.ceil(maxLease);
          for (const { lua } of Object.values(scriptsOfClient(timing(lease, window, limit), longest))) {
            const firstLease = Math.min(lease, window);
            expect(constantsOf(lua)).toEqual({
              WINDOW: `${window}`,
              LEASE: `${lease}`,
              REST: `${2 * limit}`,
              RETENTION: '60000',
              STRICT: longest === undefined ? 'nil' : `${longest}`,
              LEASE_TEXT: `'${lease}'`,
              REST_TEXT: `'${2 * limit}'`,
              LEASE_LIFE: `'${lease + 60_000}'`,
              FIRST_LEASE_TEXT: `'${firstLease}'`,
              FIRST_LEASE_LIFE: `'${firstLease + 60_000}'`,
            });
            for (const value of [window, lease, limit]) expect(Number.isSafeInteger(value)).toBe(true);
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  test('are the same for clients with the same options, so that a server keeps them once', () => {
    const digests = (commandTimeout: number): string[] =>
      Object.values(scriptsOfClient(timing(30_000, 10_000, commandTimeout), undefined)).map(
        ({ sha1 }) => sha1,
      );
    expect(digests(1_000)).toEqual(digests(1_000));
    expect(digests(1_000)).not.toEqual(digests(2_000));
  });
});

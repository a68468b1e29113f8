import {
  OPTION_DOMAINS,
  wholeNumber,
  type NumberDomain,
  type NumberOption,
} from '../../lib/core/options/option-domains.js';
import { drawPlan } from './scenario/plan.js';

/** Options of what is not simulated: the engine and its warnings, the query, the redisson store. */
const NOT_SIMULATED: readonly NumberOption[] = [
  'maxHold',
  'drainTimeout',
  'query.timeout',
  'slowWait',
  'slowHold',
  'fairLockWaitTimeout',
  'lockWatchdogTimeout',
];
const PLANS = Array.from({ length: 3_000 }, (_, seed) => drawPlan(seed + 1));

/** Every number of every option that so many plans draw. */
function drawn(): Map<NumberOption, Set<number>> {
  const values = new Map<NumberOption, Set<number>>();
  const add = (option: NumberOption, value: number | undefined): void => {
    if (value === undefined) return;
    const set = values.get(option) ?? new Set();
    values.set(option, set.add(value));
  };
  for (const plan of PLANS) {
    for (const times of [plan, ...plan.clients.flatMap((client) => client.times ?? [])]) {
      add('watchdogTimeout', times.lease);
      add('livenessWindow', times.window);
      add('commandTimeout', times.commandTimeout);
    }
    for (const { strict, replicas } of plan.clients) {
      add('maxLease', strict?.maxLease);
      add('replicas.min', replicas?.min);
      add('replicas.timeout', replicas?.timeout);
    }
    for (const { waitTime, leaseTime, holdAtLeast, maxQueue, share } of plan.flows.flatMap(
      ({ requests }) => requests,
    )) {
      add('waitTime', waitTime);
      add('leaseTime', leaseTime);
      add('maxQueue', maxQueue);
      add('holdAtLeast', holdAtLeast);
      if (share?.mode !== 'permits') continue;
      add('permits', share.permits);
      add('weight', share.weight);
    }
  }
  return values;
}

describe('the plans of the simulation draw', () => {
  const values = drawn();
  const all = Object.keys(OPTION_DOMAINS) as NumberOption[];

  test('every option that the simulated part has', () => {
    expect([...values.keys(), ...NOT_SIMULATED].sort()).toEqual(all.sort());
  });

  test.each([...values.keys()])('%s from its whole domain, and nothing outside', (option) => {
    const { unit, least, most, unbounded }: NumberDomain = OPTION_DOMAINS[option];
    const given = [...(values.get(option) ?? [])];
    const whole = given.map((value) => wholeNumber(option, value));
    expect(whole).not.toContain(undefined);
    // A command takes a millisecond at least, and less than a lease and a window; maxLease is no shorter than a lease.
    const isLonger = ['watchdogTimeout', 'livenessWindow', 'maxLease'].includes(option);
    expect(Math.min(...(whole as number[]))).toBe(isLonger ? 2 : least);
    // For the same reason a command and a WAIT take no longer than the longest lease but one millisecond.
    const isShorter = ['commandTimeout', 'replicas.timeout'].includes(option);
    const finite = whole.filter((value) => value !== Infinity) as number[];
    expect(Math.max(...finite)).toBe(isShorter ? most - 1 : most);
    expect(whole.includes(Infinity)).toBe(unbounded);
    if (unit === 'milliseconds') expect(given.some((value) => value % 1 !== 0)).toBe(true);
  });

  test('replicas, with clients that agree on strict mode and on replicas, and with some that do not', () => {
    const kinds = PLANS.map(({ lags, clients }) => {
      const share = (test: (client: (typeof clients)[number]) => unknown): string => {
        const count = clients.filter(test).length;
        return count === 0 ? 'none' : count === clients.length ? 'all' : 'some';
      };
      return `${lags.length} replicas; strict: ${share(({ strict }) => strict)}; replicas: ${share(({ replicas }) => replicas)}`;
    });
    const expected = ['none', 'some', 'all'].flatMap((strict) =>
      ['none', 'some', 'all']
        .filter((replicas) => strict !== 'some' || replicas !== 'some')
        .flatMap((replicas) =>
          [1, 2].map((count) => `${count} replicas; strict: ${strict}; replicas: ${replicas}`),
        ),
    );
    expect([...new Set(kinds)].sort()).toEqual(
      ['0 replicas; strict: none; replicas: none', ...expected].sort(),
    );
  });

  test('prefixes and names of any text, and several registrations', () => {
    const texts = PLANS.flatMap(({ prefixes, names }) => [...prefixes, ...names]);
    for (const part of [/ /, /\n/, /\0/, /é/, /\p{Surrogate}/u, /\*/, /:client/, /%/, /\\/]) {
      expect(texts.some((text) => part.test(text))).toBe(true);
    }
    for (const { prefixes } of PLANS) for (const prefix of prefixes) expect(prefix).toMatch(/^[^{}]+$/);
    expect(new Set(PLANS.map(({ prefixes }) => prefixes.length))).toEqual(new Set([1, 2, 3]));
  });
});

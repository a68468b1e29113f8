import fc from 'fast-check';
import {
  OPTION_DOMAINS,
  type NumberDomain,
  type NumberOption,
} from '../../lib/core/options/option-domains.js';

export const NUMBER_OPTIONS = Object.keys(OPTION_DOMAINS) as NumberOption[];

/** Every number that the option takes: its bounds, small and large ones, `Infinity`, and fractions of milliseconds. */
export function valuesOf(option: NumberOption): fc.Arbitrary<number> {
  const { unit, least, most, unbounded }: NumberDomain = OPTION_DOMAINS[option];
  const whole = fc.integer({ min: least, max: most });
  const tiny = fc.integer({ min: least, max: least + 20 });
  const parts = fc.double({ min: Math.max(least - 1, 0), max: most, minExcluded: true, noNaN: true });
  const fraction = fc.oneof(
    fc.integer({ min: least, max: 300_000 }).map((ms) => ms + 1 / 3),
    parts,
    fc.constant(Math.max(least - 1, 0) + 1e-9),
  );
  return fc.oneof(
    fc.constantFrom(least, most, ...(unbounded ? [Infinity] : [])),
    tiny,
    whole,
    ...(unit === 'milliseconds' ? [fraction] : []),
  );
}

/** What the option does not take. */
export function valuesOutside(option: NumberOption): fc.Arbitrary<unknown> {
  const { unit, least, most, unbounded }: NumberDomain = OPTION_DOMAINS[option];
  return fc.oneof(
    fc.constantFrom(
      NaN,
      -Infinity,
      -1,
      -Number.MIN_VALUE,
      most + 1,
      2 ** 53,
      9.2e18,
      1e21,
      Number.MAX_VALUE,
      ...(unbounded ? [] : [Infinity]),
      ...(least > 0 ? [0, -0] : []),
      ...(unit === 'count' ? [least + 0.5] : []),
    ),
    fc.double({ min: most + 1, max: Number.MAX_VALUE }),
    fc.double({ max: 0, maxExcluded: true }).filter((value) => value < 0),
    fc.constantFrom('5', 5n, true, null, {}, [5]),
  );
}

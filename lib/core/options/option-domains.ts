/** The numbers that an option accepts. */
export interface NumberDomain {
  readonly unit: 'milliseconds' | 'count';
  readonly least: number;
  readonly most: number;
  /** Whether `Infinity` is also accepted, for "no bound". */
  readonly unbounded: boolean;
}

/**
 * The largest number of every option: Node's longest timer, 24.8 days in ms. What the stores compute from a few such
 * numbers fits into the integers of Redis and into a double, so nothing that goes to Redis can overflow.
 */
export const LARGEST_NUMBER = 2 ** 31 - 1;

const milliseconds = (least: number, unbounded: 'unbounded' | 'bounded' = 'bounded'): NumberDomain => ({
  unit: 'milliseconds',
  least,
  most: LARGEST_NUMBER,
  unbounded: unbounded === 'unbounded',
});

const count = (least: number, unbounded: 'unbounded' | 'bounded' = 'bounded'): NumberDomain => ({
  ...milliseconds(least, unbounded),
  unit: 'count',
});

/** The domains of all numeric options, of the module and of a call. The checks, the docs and the tests use them. */
export const OPTION_DOMAINS = {
  waitTime: milliseconds(0, 'unbounded'),
  leaseTime: milliseconds(1),
  holdAtLeast: milliseconds(0),
  maxQueue: count(0, 'unbounded'),
  permits: count(1),
  weight: count(1),
  maxHold: milliseconds(1, 'unbounded'),
  watchdogTimeout: milliseconds(1),
  livenessWindow: milliseconds(1),
  commandTimeout: milliseconds(1),
  'replicas.min': count(1),
  'replicas.timeout': milliseconds(1),
  maxLease: milliseconds(1),
  drainTimeout: milliseconds(0),
  slowWait: milliseconds(1),
  slowHold: milliseconds(1),
  'query.timeout': milliseconds(1),
  fairLockWaitTimeout: milliseconds(1),
  lockWatchdogTimeout: milliseconds(1),
} as const satisfies Record<string, NumberDomain>;

export type NumberOption = keyof typeof OPTION_DOMAINS;

/**
 * The whole number that the option works with; undefined where `value` is outside its domain.
 *
 * A part of a millisecond counts as a whole one: no wait, lease or limit is shorter than asked for, and two
 * options compare as they were given. A part of a count is rejected.
 */
export function wholeNumber(option: NumberOption, value: unknown): number | undefined {
  const { unit, least, most, unbounded }: NumberDomain = OPTION_DOMAINS[option];
  if (typeof value !== 'number' || Number.isNaN(value) || value < 0) return undefined;
  if (value === Infinity) return unbounded ? value : undefined;
  const whole = Math.ceil(value) + 0; // -0 is 0
  if (whole < least || whole > most || (unit === 'count' && whole !== value)) return undefined;
  return whole;
}

/** What an error and the docs call the domain: `a number of milliseconds from 0 to 2147483647, or Infinity`. */
export function describeDomain(option: NumberOption): string {
  const { unit, least, most, unbounded }: NumberDomain = OPTION_DOMAINS[option];
  const what = unit === 'count' ? 'a whole number' : 'a number of milliseconds';
  return `${what} from ${least} to ${most}${unbounded ? ', or Infinity' : ''}`;
}

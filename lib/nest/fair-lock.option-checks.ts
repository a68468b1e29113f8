import { inspect } from 'node:util';

/** A check results in what the option must be, where it is not. */
export type Check = (value: unknown) => string | undefined;

/** Node's longest timer, in ms (24.8 days): a longer one would fire at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

export const milliseconds =
  (least: number, unbounded: boolean): Check =>
  (value) => {
    const fits =
      typeof value === 'number' && value >= least && (value <= LONGEST_TIMER || value === Infinity);
    if (fits && (unbounded || value !== Infinity)) return undefined;
    return `a number of milliseconds from ${least} to ${LONGEST_TIMER}${unbounded ? ', or Infinity' : ''}`;
  };

export const count =
  (unbounded: boolean): Check =>
  (value) =>
    (Number.isInteger(value) && (value as number) >= 0) || (unbounded && value === Infinity)
      ? undefined
      : `a whole number, 0 or more${unbounded ? ', or Infinity' : ''}`;

export const oneOf =
  (...allowed: readonly unknown[]): Check =>
  (value) =>
    allowed.includes(value) ? undefined : allowed.map((each) => inspect(each)).join(' or ');

export function checkReplicas(value: unknown): string | undefined {
  const expected =
    'false, or { min: how many replicas must have a grant (1 or more), timeout: a number of milliseconds from 1 }';
  if (value === false) return undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return expected;
  const { min, timeout, ...others } = value as { min?: unknown; timeout?: unknown };
  const fits =
    Number.isInteger(min) &&
    (min as number) >= 1 &&
    (timeout === undefined || milliseconds(1, false)(timeout) === undefined) &&
    Object.keys(others).length === 0;
  return fits ? undefined : expected;
}

/** Only the form: nothing is connected here, and nothing is repeated, since a URL may hold a password. */
export function checkRedis(value: unknown): string | undefined {
  const expected =
    'a redis:// or rediss:// URL, the path of a Unix socket, ioredis options, a Redis or Cluster of ioredis, or a function of the role';
  if (typeof value === 'string') return isRedisAddress(value) ? undefined : expected;
  const usable =
    typeof value === 'function' || (typeof value === 'object' && value !== null && !Array.isArray(value));
  return usable ? undefined : expected;
}

function isRedisAddress(text: string): boolean {
  return text.startsWith('/') || (/^rediss?:\/\//.test(text) && URL.canParse(text));
}

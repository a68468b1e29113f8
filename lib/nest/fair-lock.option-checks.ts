import { inspect } from 'node:util';
import { describeDomain, wholeNumber, type NumberOption } from '../core/option-domains.js';

/** A check results in what the option must be, where it is not. */
export type Check = (value: unknown) => string | undefined;

export const numberOf =
  (option: NumberOption): Check =>
  (value) =>
    wholeNumber(option, value) === undefined ? describeDomain(option) : undefined;

/** `false` switches the option off. */
export const falseOr =
  (check: Check): Check =>
  (value) =>
    value === false ? undefined : check(value);

export const oneOf =
  (...allowed: readonly unknown[]): Check =>
  (value) =>
    allowed.includes(value) ? undefined : allowed.map((each) => inspect(each)).join(' or ');

export function checkReplicas(value: unknown): string | undefined {
  const expected =
    `false, or { min, timeout }: min (how many replicas must have a grant) ${describeDomain('replicas.min')}, ` +
    `timeout ${describeDomain('replicas.timeout')}`;
  if (value === false) return undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return expected;
  const { min, timeout, ...others } = value as { min?: unknown; timeout?: unknown };
  const fits =
    wholeNumber('replicas.min', min) !== undefined &&
    (timeout === undefined || wholeNumber('replicas.timeout', timeout) !== undefined) &&
    Object.keys(others).length === 0;
  return fits ? undefined : expected;
}

/** Only the form: nothing is connected here, and nothing is repeated, since a URL may hold a password. */
export function checkRedis(value: unknown): string | undefined {
  const expected =
    'a redis:// or rediss:// URL (with %25 for a % in user name or password, and a number as database), the path of a Unix socket, ioredis options, ' +
    'a Redis or Cluster of ioredis, or a function of the role';
  if (typeof value === 'string') return isRedisAddress(value) ? undefined : expected;
  const usable =
    typeof value === 'function' || (typeof value === 'object' && value !== null && !Array.isArray(value));
  return usable ? undefined : expected;
}

/** A URL of Redis, or the path of a Unix socket. */
export function isRedisAddress(text: string): boolean {
  if (text.startsWith('/')) return true;
  if (!/^rediss?:\/\//.test(text) || !URL.canParse(text)) return false;
  return canDecode(text) && namesDatabase(new URL(text));
}

/** Where the path is no number, ioredis selects the database NaN and leaves the refusal unhandled. */
function namesDatabase({ pathname }: URL): boolean {
  return pathname.length <= 1 || /^\/\d/.test(pathname);
}

/** ioredis decodes user name and password. */
function canDecode(text: string): boolean {
  try {
    return decodeURIComponent(text) !== '';
  } catch {
    return false;
  }
}

import { inspect } from 'node:util';
import {
  describeDomain,
  LARGEST_NUMBER,
  wholeNumber,
  type NumberOption,
} from '../core/options/option-domains.js';

/** A check returns undefined for a valid value, else a text that says what the option must be. */
export type Check = (value: unknown) => string | undefined;

export const numberOf =
  (option: NumberOption): Check =>
  (value) =>
    wholeNumber(option, value) === undefined ? describeDomain(option) : undefined;

/** Also accepts `false`, which turns the option off. */
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

/** Where Redis is if neither the options nor the environment say so. */
export const DEFAULT_REDIS = 'redis://localhost:6379';

/** For warnings about the server: says so if nothing names it. */
export function noteOnAddress({ redis }: { readonly redis?: unknown }): string {
  if (redis !== undefined || process.env['REDIS_URL']) return '';
  return ` Using ${DEFAULT_REDIS} because neither the redis option nor REDIS_URL is set.`;
}

/** What a string that names Redis must be. */
export const A_REDIS_URL =
  'a redis:// or rediss:// URL (with %25 for a % in user name or password, and a number as database) or the path of a Unix socket';

/** Checks only the form, without connecting. The text never repeats the value, since a URL may contain a password. */
export function checkRedis(value: unknown): string | undefined {
  const expected =
    `${A_REDIS_URL}, ioredis options with host, port, path or sentinels, a Redis or Cluster of ioredis, ` +
    'or a function of the role';
  if (typeof value === 'string' || isUrl(value)) return isRedisAddress(String(value)) ? undefined : expected;
  if (typeof value === 'function')
    return isClass(value)
      ? `${expected}; it is the class ${value.name}: write new ${value.name}()`
      : undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return expected;
  const foreign = foreignTo(value);
  if (foreign !== undefined) return `${expected}; it is ${foreign}, so the locks would be on localhost`;
  const wrong = 'duplicate' in value ? undefined : wrongNumberIn(value);
  return wrong && `${expected}; its ${wrong}`;
}

/** What names the server for other clients of Redis. ioredis ignores it. */
const OF_OTHER_LIBRARIES = ['url', 'socket', 'nodes', 'rootNodes'];

/** Describes a value for which ioredis would silently connect to localhost. */
function foreignTo(value: object): string | undefined {
  if ('duplicate' in value) return 'status' in value ? undefined : 'a client of another library';
  if (value instanceof Promise) return 'a Promise, which must be awaited first';
  const name = OF_OTHER_LIBRARIES.find((each) => each in value);
  if (name !== undefined) return `an object with ${name}, which ioredis does not know`;
  const { host, port, path, sentinels, Connector } = value as Record<string, unknown>;
  if (host === '' || path === '') return `an object with an empty ${host === '' ? 'host' : 'path'}`;
  const given = [host, port, path, sentinels, Connector];
  return given.every((each) => each === undefined) ? 'an object that names no server' : undefined;
}

/** A variable of the environment is text, which counts; one that is not set becomes NaN, with which ioredis connects to nothing. */
function wrongNumberIn(options: object): string | undefined {
  const { port, db } = options as Record<string, unknown>;
  for (const [name, value, most] of [
    ['port', port, 65_535],
    ['db', db, LARGEST_NUMBER],
  ] as const) {
    const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
    const fits = Number.isInteger(number) && (number as number) >= 0 && (number as number) <= most;
    if (value !== undefined && !fits) return `${name} is ${inspect(value)}`;
  }
  return undefined;
}

/** A class has a read-only prototype; a function does not. A client's class that was compiled to a function has `duplicate` in its prototype. */
export function isClass(value: { readonly prototype?: unknown }): boolean {
  const { writable } = Object.getOwnPropertyDescriptor(value, 'prototype') ?? {};
  return writable === false || 'duplicate' in Object(value.prototype);
}

/** By its form: it may come from another realm. */
export function isUrl(value: unknown): value is URL {
  return Object.prototype.toString.call(value) === '[object URL]';
}

/** A URL of Redis, or the path of a Unix socket. */
export function isRedisAddress(text: string): boolean {
  if (text.startsWith('/')) return true;
  if (!/^rediss?:\/\//.test(text) || !URL.canParse(text)) return false;
  return canDecode(text) && namesDatabase(new URL(text));
}

/** Whether the path is empty or a database number. With any other path ioredis selects database NaN and leaves the error unhandled. */
function namesDatabase({ pathname }: URL): boolean {
  return pathname.length <= 1 || /^\/\d/.test(pathname);
}

/** Whether user name and password can be decoded, which ioredis does. */
function canDecode(text: string): boolean {
  try {
    return decodeURIComponent(text) !== '';
  } catch {
    return false;
  }
}

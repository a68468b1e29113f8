/** Formats names and values of callers for messages, logs and reports. */

import { createHash } from 'node:crypto';
import { inspect } from 'node:util';

/** Longest part of a key that a message repeats. */
const QUOTED_KEY_LENGTH = 120;
/** Longest part of a key that a report repeats. */
const REPORTED_KEY_LENGTH = 1_024;

/**
 * `text` on one line: control characters, line separators and marks that change the direction of writing become
 * escapes, so that a name from outside cannot forge a line of a log.
 */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\u061c\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A key as messages show it. */
export function quote(key: string): string {
  return printable(
    JSON.stringify(key.length > QUOTED_KEY_LENGTH ? `${key.slice(0, QUOTED_KEY_LENGTH)}…` : key),
  );
}

/** A key as reports show it: a digest stands for the end of a long one, so that two keys never look the same. */
export function reportedKey(key: string): string {
  if (!isLong(key)) return key;
  const digest = createHash('sha256').update(key, 'utf16le').digest('hex');
  return `${key.slice(0, REPORTED_KEY_LENGTH)}…${digest}`;
}

/** Whether a key is too long to be reported as it is. */
export function isLong(key: string): boolean {
  return key.length > REPORTED_KEY_LENGTH;
}

/** The same values, with whole numbers. */
export function withWholeFigures<T extends object>(values: T): T {
  const whole = Object.entries(values).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'number' ? Math.round(value) : value,
  ]);
  return Object.fromEntries(whole) as T;
}

/** A time as messages show it. */
export function duration(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${Number((ms / 1_000).toFixed(1))} s`;
}

/** The kind of a value of a caller; never its contents, which may be private. */
export function described(value: unknown): string {
  if (value === undefined || value === null || typeof value === 'number') return String(value);
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  if (value === '') return 'an empty string';
  if (value instanceof Promise) return 'a promise';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** A wrong value as messages show it: on one line, without nested contents. */
export function shown(value: unknown): string {
  try {
    return inspect(value, { depth: 0, breakLength: Infinity });
  } catch {
    return 'a value that cannot be shown'; // its own `inspect` failed
  }
}

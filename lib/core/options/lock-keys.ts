import { LockKeyError } from '../errors/errors.js';
import { shown } from '../errors/text.js';

/** A key as asked for, and the store's name for it. */
export interface Target {
  readonly key: string;
  readonly encoded: string;
}

/**
 * The keys without duplicates, in the global order in which all callers take them, so that callers of the same keys cannot
 * deadlock.
 *
 * @throws LockKeyError for an empty list, or a key that is no string
 */
export function lockOrder(keys: readonly string[], encode: (key: string) => string): Target[] {
  if (!Array.isArray(keys)) requireKey(keys);
  if (keys.length === 0) refuse('The list of lock keys is empty: there is nothing to lock.');
  const targets = new Map<string, Target>();
  for (const key of keys) {
    requireKey(key);
    const encoded = encode(key);
    if (!targets.has(encoded)) targets.set(encoded, { key, encoded });
  }
  return [...targets.values()].sort((a, b) => (a.encoded < b.encoded ? -1 : 1));
}

/** @throws LockKeyError unless `key` is a string */
export function requireKey(key: unknown): string {
  if (typeof key === 'string') return key;
  refuse('A lock key must be a string, or a list of strings.', ` It is ${shown(key)}.`);
}

function refuse(message: string, found = ''): never {
  throw new LockKeyError(message + found, { message });
}

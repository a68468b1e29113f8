import { LockConfigurationError, LockKeyError } from '../errors/errors.js';
import { quote, shown } from '../errors/text.js';
import { requireOptions } from './refusals.js';
import { isSameShare, shareOf, type Share, type SharingOptions } from './sharing.js';

/** One of several keys, with sharing options that replace those of the call. */
export type SharedKey = SharingOptions & { readonly key: string };

export const OPTIONS_OF_KEY = ['key', 'permits', 'weight', 'mode'] as const;

/** What a call locks: one key, or several together. */
export type LockKeys = string | readonly (string | SharedKey)[];

/** A key as asked for, and the store's name for it. */
export interface Target {
  readonly key: string;
  readonly encoded: string;
  readonly share: Share | undefined;
}

/**
 * The keys without duplicates, in the global order in which all callers take them, so that callers of the same keys cannot deadlock: by
 * name alone. What a call asks of a key differs between calls, and between the versions of an application.
 *
 * @param share of the keys that do not set it
 * @throws LockKeyError for an empty list, or a key that is not a string
 * @throws LockConfigurationError for sharing options that cannot work
 */
export function lockOrder(
  keys: readonly (string | SharedKey)[],
  encode: (key: string) => string,
  share: Share | undefined,
): Target[] {
  if (!Array.isArray(keys)) requireKey(keys);
  if (keys.length === 0) refuse('The list of lock keys is empty: there is nothing to lock.');
  const targets = new Map<string, Target>();
  for (const each of keys) {
    const { key, own } = typeof each === 'object' ? partsOf(each) : { key: requireKey(each), own: share };
    const target = { key, encoded: encode(key), share: own ?? share };
    const earlier = targets.get(target.encoded);
    if (!earlier) targets.set(target.encoded, target);
    else if (!isSameShare(earlier.share, target.share)) refuseTwice(key);
  }
  return [...targets.values()].sort((one, other) => (one.encoded < other.encoded ? -1 : 1));
}

/** @throws LockKeyError unless `key` is a string that is not empty */
export function requireKey(key: unknown): string {
  if (key === '') refuse('A lock key is the empty string, which usually means that a value is missing.');
  if (typeof key === 'string') return key;
  if (Array.isArray(key)) refuse('This call takes a single lock key, not a list: call it for each key.');
  refuse('A lock key must be a string or a list of strings.', ` It is ${shown(key)}.`);
}

function partsOf(given: SharedKey): { readonly key: string; readonly own: Share | undefined } {
  const { key } = given ?? requireKey(given);
  requireKey(key);
  requireOptions(given, OPTIONS_OF_KEY, 'key');
  return { key, own: shareOf(given, "A key's") };
}

function refuseTwice(key: string): never {
  throw new LockConfigurationError(
    `The lock key ${quote(key)} appears twice with different sharing options, and a call holds it in one way only: list it once, with the ` +
      'options you mean.',
    'A lock key appears twice with different sharing options: list it once, with the options you mean.',
  );
}

function refuse(message: string, found = ''): never {
  throw new LockKeyError(message + found, { message });
}

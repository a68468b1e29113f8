import { LockConfigurationError } from '../../core/errors/errors.js';
import { shown } from '../../core/errors/text.js';
import { type LockKeys, OPTIONS_OF_KEY } from '../../core/options/lock-keys.js';
import { describeDomain, LARGEST_NUMBER, wholeNumber } from '../../core/options/option-domains.js';
import { requireOptions } from '../../core/options/refusals.js';
import { shareOf, type SharingOptions } from '../../core/options/sharing.js';
import { type LockedKey, type MethodSharing, type SharedKeyTemplate } from './fair-locked.types.js';
import {
  checkMadeKeys,
  isObject,
  type KeyPlace,
  parseKeyTemplates,
  type TemplateRoot,
} from './key-template.js';

/** What keys and permits are made of: one call of a method, or one request. */
export interface KeySource {
  readonly place: KeyPlace;
  /** Where the paths of templates begin. */
  root(): unknown;
  /** Calls a function of the decorator with what it is a function of. */
  call(code: (...args: never[]) => unknown): unknown;
}

/** Makes the keys of one call, with a number wherever the decorator has a function for one. */
export type MakeKeys = (source: KeySource) => LockKeys;

/**
 * Reads the key of a decorator and its `permits`, `weight` and `mode`, once.
 *
 * @param key undefined: the name of the place
 * @throws LockKeyError or LockConfigurationError for what cannot work in any call
 */
export function keysOfCalls(
  key: LockedKey | undefined,
  sharing: MethodSharing,
  root: TemplateRoot,
  place: KeyPlace,
): MakeKeys {
  checkSharing(sharing, place);
  const make = keysWithout(key, root, place);
  if (!dependsOnCall(sharing)) return make;
  return (source) => {
    const share = shareIn(source, sharing);
    const keys = make(source);
    return (typeof keys === 'string' ? [keys] : keys).map((each) => {
      if (typeof each === 'string') return { key: each, ...share };
      return saysHow(each) ? each : { key: each.key, ...share };
    });
  };
}

/** The options of all calls: without numbers that each call makes, since the keys carry those. */
export function acquireOptionsOf<Options extends MethodSharing>(options: Options): Options & SharingOptions {
  if (!dependsOnCall(options)) return options as Options & SharingOptions;
  const { permits: _permits, weight: _weight, ...others } = options;
  return others;
}

/** Whether a decorator asks for locks that others hold at the same time, as far as that is known before a call. */
export function isShared(key: LockedKey | undefined, { permits, mode }: MethodSharing): boolean {
  if (permits !== undefined || mode !== undefined) return true;
  return (
    Array.isArray(key) && key.some((each: string | SharedKeyTemplate) => isObject(each) && saysHow(each))
  );
}

/**
 * The name under which metrics count the lock of `key`: its template, because the code contains only few; without a template, the
 * name of the method.
 */
export function groupOf(key: LockedKey | undefined, place: string): string {
  return key === undefined || typeof key === 'function' ? place : [namesOf(key)].flat().join(' ');
}

/** The keys, or their templates, without their sharing options. */
export function namesOf<Keys extends LockKeys | readonly (string | SharedKeyTemplate)[]>(
  keys: Keys,
): string | readonly string[] {
  if (typeof keys === 'string') return keys;
  return keys.map((each) => (isObject(each) ? each.key : each));
}

/** Without the numbers that the options of the decorator make for each call. */
function keysWithout(key: LockedKey | undefined, root: TemplateRoot, place: KeyPlace): MakeKeys {
  if (key === undefined) return () => place.name;
  if (typeof key === 'function') {
    return (source) => {
      const made = source.call(key) as LockKeys;
      checkMadeKeys(Array.isArray(made) ? namesOf(made as LockKeys) : made, source.place);
      return made;
    };
  }
  if (!Array.isArray(key) || !key.some(isObject)) {
    const render = parseKeyTemplates(key as string, root, place);
    return (source) => render(source.root());
  }
  const list = key as readonly (string | SharedKeyTemplate)[];
  const render = parseKeyTemplates(namesOf(list), root, place);
  for (const each of list) {
    if (!isObject(each)) continue;
    requireOptions(each, OPTIONS_OF_KEY, 'key');
    checkSharing(each, place);
  }
  return (source) => {
    const names = render(source.root()) as readonly string[];
    return list.map((each, i) => {
      const key = names[i] ?? '';
      return isObject(each) ? { key, ...shareIn(source, each) } : key;
    });
  };
}

/** Whether each call makes its own number of permits. */
function dependsOnCall({ permits, weight }: MethodSharing): boolean {
  return typeof permits === 'function' || typeof weight === 'function';
}

/** How one call shares a lock. */
function shareIn(source: KeySource, { permits, weight, mode }: MethodSharing): SharingOptions {
  if (permits === undefined) return mode === undefined ? {} : { mode };
  return {
    permits: numberIn(source, 'permits', permits),
    ...(weight !== undefined && { weight: numberIn(source, 'weight', weight) }),
  };
}

/** Calls a function for a number of permits. @throws LockConfigurationError if it does not return one */
function numberIn(
  source: KeySource,
  option: 'permits' | 'weight',
  given: number | ((...args: never[]) => unknown),
): number {
  if (typeof given === 'number') return given;
  let made: unknown;
  try {
    made = source.call(given);
  } catch (error) {
    throw unusable(source, option, `threw ${error instanceof Error ? String(error) : shown(error)}`);
  }
  const whole = wholeNumber(option, made);
  if (whole !== undefined) return whole;
  if (made instanceof Promise) made.catch(() => undefined); // its rejection has no other handler
  throw unusable(source, option, `returned ${made instanceof Promise ? 'a promise' : shown(made)}`);
}

function unusable({ place }: KeySource, option: 'permits' | 'weight', did: string): LockConfigurationError {
  return new LockConfigurationError(
    `The ${option} function of ${place.name} ${did}. It must return ${describeDomain(option)}, not a promise of one.`,
    'No usable number of permits could be derived from this call.',
  );
}

/** Checks what is known before a call. */
function checkSharing(sharing: MethodSharing, { name }: KeyPlace): void {
  const known = {
    ...sharing,
    ...(typeof sharing.permits === 'function' && { permits: LARGEST_NUMBER }),
    ...(typeof sharing.weight === 'function' && { weight: 1 }),
  };
  shareOf(known as SharingOptions, `On ${name}, the lock option`);
}

function saysHow({ permits, weight, mode }: MethodSharing): boolean {
  return permits !== undefined || weight !== undefined || mode !== undefined;
}

import { LockConfigurationError } from '../../core/errors/errors.js';
import { see } from '../../core/errors/mistakes.js';
import { shown } from '../../core/errors/text.js';
import { type LockKeys, type SharedKey } from '../../core/options/lock-keys.js';
import { describeDomain, LARGEST_NUMBER, wholeNumber } from '../../core/options/option-domains.js';
import { shareOf, type SharingOptions } from '../../core/options/sharing.js';
import { type LockedKey, type MethodSharing, type SharedKeyTemplate } from './fair-locked.types.js';
import { checkMadeKeys, type KeyPlace, parseKeyTemplates, type TemplateRoot } from './key-template.js';

/** What keys and permits are made of: one call of a method, or one request. */
export interface KeySource {
  readonly place: KeyPlace;
  /** Where the paths of templates begin. */
  root(): unknown;
  /** Calls a function of the decorator with what it is a function of. */
  call(code: (...args: never[]) => unknown): unknown;
}

/** Makes the keys of one call, with a number wherever the decorator has a function for `permits`. */
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
  const { permits, weight } = sharing;
  if (typeof permits !== 'function') return make;
  return (source) => {
    const share = { permits: permitsOf(permits, source), weight };
    const keys = make(source);
    return (typeof keys === 'string' ? [keys] : keys).map((each) => {
      if (typeof each === 'string') return { key: each, ...share };
      return saysHow(each) ? each : { ...each, ...share };
    });
  };
}

/** The options of the calls: a `permits` function is not among them, since the keys carry what it answers. */
export function acquireOptionsOf<Options extends MethodSharing>({
  permits,
  weight,
  ...others
}: Options): Omit<Options, 'permits' | 'weight'> & Pick<SharingOptions, 'permits' | 'weight'> {
  return typeof permits === 'function' ? others : { ...others, permits, weight };
}

/** Whether a decorator asks for locks that others hold at the same time, as far as it shows before a call. */
export function isShared(key: LockedKey | undefined, { permits, mode }: MethodSharing): boolean {
  if (permits !== undefined || mode !== undefined) return true;
  return (
    Array.isArray(key) && key.some((each: string | SharedKeyTemplate) => isObject(each) && saysHow(each))
  );
}

/** The keys, or their templates, without what is said of how they are shared. */
export function namesOf<Keys extends LockKeys | readonly (string | SharedKeyTemplate)[]>(
  keys: Keys,
): string | readonly string[] {
  if (typeof keys === 'string') return keys;
  return keys.map((each) => (isObject(each) ? each.key : each));
}

/** Without the `permits` function of the decorator itself. */
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
  for (const each of list) if (isObject(each)) checkSharing(each, place);
  return (source) => {
    const names = render(source.root()) as readonly string[];
    return list.map((each, i) => withNumber(each, names[i] ?? '', source));
  };
}

function withNumber(each: string | SharedKeyTemplate, key: string, source: KeySource): string | SharedKey {
  if (!isObject(each)) return key;
  const { permits } = each;
  return { ...each, key, permits: typeof permits === 'function' ? permitsOf(permits, source) : permits };
}

/** Calls a `permits` function. @throws LockConfigurationError if it does not answer a number of permits */
function permitsOf(permits: (...args: never[]) => unknown, source: KeySource): number {
  let made: unknown;
  try {
    made = source.call(permits);
  } catch (error) {
    throw unusable(source, `threw ${error instanceof Error ? String(error) : shown(error)}`);
  }
  const whole = wholeNumber('permits', made);
  if (whole !== undefined) return whole;
  if (made instanceof Promise) made.catch(() => undefined); // its rejection has no other handler
  throw unusable(source, `answered ${made instanceof Promise ? 'a promise' : shown(made)}`);
}

function unusable({ place }: KeySource, did: string): LockConfigurationError {
  return new LockConfigurationError(
    `The permits function of ${place.name} ${did}. It has to answer, at once, ${describeDomain('permits')}.` +
      see('Options of a call'),
    'This call gives no usable number of permits for its lock.',
  );
}

/** Checks what is known before a call. */
function checkSharing({ permits, weight, mode }: MethodSharing, { name }: KeyPlace): void {
  const known: SharingOptions = {
    permits: typeof permits === 'function' ? LARGEST_NUMBER : permits,
    weight,
    mode,
  };
  shareOf(known, `On ${name}, the lock option`);
}

function saysHow({ permits, weight, mode }: MethodSharing): boolean {
  return permits !== undefined || weight !== undefined || mode !== undefined;
}

function isObject<T>(value: T): value is Exclude<T, string> {
  return typeof value === 'object' && value !== null;
}

import { LockConfigurationError } from '../errors/errors.js';
import { described, shown } from '../errors/text.js';

/** @throws LockConfigurationError: `what` must be something other than what was given */
export function refuseValue(what: string, expected: string, given: unknown): never {
  throw new LockConfigurationError(`${what} must be ${expected}; it is ${shown(given)}.`);
}

/**
 * @param of what takes the section, for messages: `withLock`
 * @param example how to write it
 * @throws LockConfigurationError for a section that is not a function; a promise is work that has begun without the lock
 */
export function requireSection(section: unknown, of: string, example: string): void {
  if (typeof section === 'function') return;
  if (section instanceof Promise) section.catch(() => undefined); // its rejection has no other handler
  const why =
    section instanceof Promise
      ? `${of} got a promise, whose work has begun without the lock`
      : `${of} needs a function to run while the lock is held, but got ${described(section)}`;
  throw new LockConfigurationError(`${why}: write ${example}.`);
}

/**
 * Without a compiler that checks types, a misspelt option would silently have no effect.
 *
 * @param of whose options they are, for messages: `forceRelease`
 * @param why why others do not exist, if that needs a reason
 * @throws LockConfigurationError unless `given` is an object with no other options than `known`
 */
export function requireOptions<Name extends string>(
  given: unknown,
  known: readonly Name[],
  of: string,
  why = '',
): asserts given is { readonly [name in Name]?: unknown } {
  if (typeof given !== 'object' || given === null) refuseValue(`The ${of} options`, 'an object', given);
  const names: readonly string[] = known;
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new LockConfigurationError(
    `Unknown ${of} option ${shown(unknown)}${why}. The options are: ${known.join(', ')}.`,
  );
}

import { LockConfigurationError } from '../errors/errors.js';
import { shown } from '../errors/text.js';

/** @throws LockConfigurationError: `what` must be something other than what was given */
export function refuseValue(what: string, expected: string, given: unknown): never {
  throw new LockConfigurationError(`${what} must be ${expected}; it is ${shown(given)}.`);
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

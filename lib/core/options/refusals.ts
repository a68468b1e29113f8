import { LockConfigurationError } from '../errors/errors.js';
import { see } from '../errors/mistakes.js';
import { shown } from '../errors/text.js';

/** @throws LockConfigurationError: `what` must be something else than what was given */
export function refuseValue(what: string, expected: string, given: unknown): never {
  throw new LockConfigurationError(
    `${what} must be ${expected}; it is ${shown(given)}.${see('Options of a call')}`,
  );
}

/**
 * A misspelt option would have no effect, without a word where no compiler checks types.
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
  if (typeof given !== 'object' || given === null) refuseValue(`The options of ${of}`, 'an object', given);
  const names: readonly string[] = known;
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new LockConfigurationError(
    `There is no option ${shown(unknown)} of ${of}${why}. The options are: ${known.join(', ')}.${see('Options of a call')}`,
  );
}

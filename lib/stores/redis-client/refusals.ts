import { LockConfigurationError } from '../../core/errors/errors.js';
import { quote } from '../../core/errors/text.js';

/** How many grants of a request with a fixed lease may end before this client receives them. */
export const MOST_MISSED = 3;

/** The error of a request whose grants were all over before this client received them. */
export function leaseTooShort(key: string, leaseTime: number): LockConfigurationError {
  return new LockConfigurationError(
    `A leaseTime of ${leaseTime} ms is too short for the lock ${quote(key)}: ${MOST_MISSED} times in a row it had expired before this ` +
      'process learned that it had the lock. The call failed. Choose a leaseTime of many round trips to Redis, or omit it: then the ' +
      'lease is renewed for as long as your code runs.',
    'The requested lease is too short.',
  );
}

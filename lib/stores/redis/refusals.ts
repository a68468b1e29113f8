import {
  abortError,
  LockConfigurationError,
  LockQueueFullError,
  LockShuttingDownError,
  LockTimeoutError,
} from '../../core/errors/errors.js';
import { quote } from '../../core/errors/text.js';
import type { Request } from './request.js';

/** Why a request ends without the lock, where that is no answer of Redis. */
export type Why = 'timed out' | 'aborted' | 'full' | 'closing' | 'lease too short';

/** A fixed lease so short that it had expired so many times before it could be entered is refused. */
export const MOST_MISSED = 3;

/** The error of a request that ends without the lock. */
export function refusal({ wait }: Request, why: Why, blocker: LockTimeoutError['blockedBy'] = {}): unknown {
  const { key, waitTime, leaseTime = 0, maxQueue } = wait.request;
  switch (why) {
    case 'timed out':
      return new LockTimeoutError(key, waitTime, blocker);
    case 'aborted':
      return abortError(key, wait.reason);
    case 'full':
      return new LockQueueFullError(key, maxQueue);
    case 'closing':
      return new LockShuttingDownError(key);
    case 'lease too short':
      return leaseTooShort(key, leaseTime);
  }
}

function leaseTooShort(key: string, leaseTime: number): LockConfigurationError {
  return new LockConfigurationError(
    `A leaseTime of ${leaseTime} ms is too short for the lock ${quote(key)}: ${MOST_MISSED} times in a row it had expired before this ` +
      'process learned that it had the lock. The request failed. Choose a leaseTime of many round trips to Redis, or omit it: then the ' +
      'lease is renewed for as long as the section runs.',
    'The requested lease is too short.',
  );
}

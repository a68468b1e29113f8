import {
  abortError,
  LockConfigurationError,
  LockQueueFullError,
  LockShuttingDownError,
  LockTimeoutError,
} from '../../../core/errors/errors.js';
import { quote } from '../../../core/errors/text.js';
import type { Wait } from '../../../core/port/wait.js';
import type { CommonRefusal } from './protocol-types.js';

/** The error for a caller that does not get the lock. */
export function refusalError(refusal: CommonRefusal, { request, reason }: Wait): unknown {
  const { key, waitTime, leaseTime = 0, maxQueue } = request;
  switch (refusal.why) {
    case 'wait time':
    case 'busy':
      return new LockTimeoutError(key, waitTime, refusal.blocker);
    case 'lease too short':
      return leaseTooShort(key, leaseTime, refusal.missed);
    case 'full':
      return new LockQueueFullError(key, maxQueue);
    case 'abort':
      return abortError(key, reason);
    case 'error':
      return refusal.error;
    case 'closing':
      return new LockShuttingDownError(key);
  }
}

function leaseTooShort(key: string, leaseTime: number, missed: number): LockConfigurationError {
  return new LockConfigurationError(
    `A leaseTime of ${leaseTime} ms is too short for the lock ${quote(key)}: ${missed} times in a row it was over before this process ` +
      'heard that it had the lock. The lock is not taken. Choose a leaseTime of many round trips to Redis, or none: then the lease is ' +
      'renewed for as long as the section runs.',
    'The lease asked for is too short.',
  );
}

import {
  abortError,
  LockQueueFullError,
  LockShuttingDownError,
  LockTimeoutError,
} from '../../core/errors/errors.js';
import { leaseTooShort } from '../redis-client/refusals.js';
import type { Request } from './request.js';

/** Why a request ends without the lock, where that is no answer of Redis. */
export type Why = 'timed out' | 'aborted' | 'full' | 'closing' | 'lease too short';

/** The error of a request that ends without the lock. */
export function refusal({ wait }: Request, why: Why, blocker: LockTimeoutError['blockedBy'] = {}): unknown {
  const { key, waitTime, leaseTime = 0, maxQueue } = wait;
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

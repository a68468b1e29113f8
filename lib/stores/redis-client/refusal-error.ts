import { LockQueueFullError, LockShuttingDownError, LockTimeoutError } from '../../core/errors.js';
import type { LockRequest } from '../../core/lock-store.js';
import type { CommonRefusal } from './line-machine.js';

/** What a caller is rejected with that does not get the lock. */
export function refusalError(
  refusal: CommonRefusal,
  call: { readonly request: LockRequest; readonly cancellation: unknown },
): unknown {
  const { key, waitTime, maxQueue } = call.request;
  switch (refusal.why) {
    case 'wait time':
    case 'busy':
      return new LockTimeoutError(key, waitTime, refusal.blocker);
    case 'full':
      return new LockQueueFullError(key, maxQueue);
    case 'abort':
      return call.cancellation;
    case 'error':
      return refusal.error;
    case 'closing':
      return new LockShuttingDownError(key);
  }
}

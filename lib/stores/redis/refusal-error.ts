import { LockQueueFullError, LockShuttingDownError, LockTimeoutError } from '../../core/errors.js';
import type { LockRequest } from '../../core/lock-store.js';
import type { Refusal } from './line/events.js';
import type { Replication } from './replication.js';
import { leaseTooShort } from './store-options.js';

/** What a caller is rejected with that does not get the lock. */
export function refusalError(
  refusal: Refusal,
  call: { readonly request: LockRequest; readonly cancellation: unknown },
  replication: Replication | undefined,
): unknown {
  const { key, waitTime, maxQueue } = call.request;
  switch (refusal.why) {
    case 'wait time': {
      const { blocker, ahead } = refusal;
      return new LockTimeoutError(key, waitTime, { ...blocker, ...(ahead !== undefined && { ahead }) });
    }
    case 'abort':
      return call.cancellation;
    case 'busy':
      return new LockTimeoutError(key, 0, refusal.blocker);
    case 'full':
      return new LockQueueFullError(key, maxQueue);
    case 'lease too short':
      return leaseTooShort(key, call.request.leaseTime ?? 0, refusal.missed);
    case 'not replicated':
      return replication?.failureOf(key, refusal.replicated);
    case 'error':
      return refusal.error;
    case 'closing':
      return new LockShuttingDownError(key);
  }
}

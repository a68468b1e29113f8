import {
  LockQueueFullError,
  LockShuttingDownError,
  LockStoreUnavailableError,
  LockTimeoutError,
} from '../../core/errors.js';
import type { LockRequest } from '../../core/lock-store.js';
import { quote } from '../../core/text.js';
import type { Watchdog } from '../../core/watchdog.js';
import { PendingRequest } from '../redis-client/pending-request.js';
import type { NewRequest, Refusal } from './line/events.js';

/** A call of `acquire` that is not settled yet. */
export class WaitingCall extends PendingRequest {
  /** What to reject with, once it is out of the line. */
  cancellation: unknown;

  constructor(
    request: LockRequest,
    watchdog: Watchdog,
    driver: { giveUp(call: WaitingCall, error: unknown): void },
    readonly entry: NewRequest,
  ) {
    super(request, watchdog, driver);
  }

  refuse(refusal: Refusal): void {
    this.fail(this.errorFor(refusal));
  }

  /** The warning for an operator when it was put at the end of the line. */
  lostPlaceWarning(): string {
    const { key, waitTime } = this.request;
    const advice =
      waitTime === Infinity
        ? 'a waiter without a wait time is dropped when a lock is held for longer than fairLockWaitTimeout: raise it here and in Java. '
        : 'longer wait times make this rarer. ';
    return (
      `A request for the lock ${quote(key)} (${this.entry.who}) lost its place after ${Math.round(this.waited)} ms and stands at the ` +
      'end of the line now. Either its deadline in Redis had passed, by which Redisson recognizes a dead waiter, or Redis lost ' +
      `the line. If it was the deadline: ${advice}Where Java clients take most of the grants, deadlines fall behind; and the clocks ` +
      'of all hosts must agree (NTP). docs/redisson.md explains the deadlines.'
    );
  }

  private errorFor(refusal: Refusal): unknown {
    const { key, waitTime, maxQueue } = this.request;
    switch (refusal.why) {
      case 'wait time':
      case 'busy':
        return new LockTimeoutError(key, waitTime, refusal.blocker);
      case 'full':
        return new LockQueueFullError(key, maxQueue);
      case 'abort':
        return this.cancellation;
      case 'closing':
        return new LockShuttingDownError(key);
      case 'lease too short':
        return new LockStoreUnavailableError(
          'timeout',
          `The lock ${quote(key)} was granted, but the answer took longer than its lease of ${refusal.leaseTime} ms, ` +
            'so it was given back. Raise leaseTime, or leave it out: then the lease is renewed.',
        );
      case 'error':
        return refusal.error;
    }
  }
}

import {
  abortError,
  LockConfigurationError,
  LockQueueFullError,
  LockShuttingDownError,
  LockTimeoutError,
} from '../../core/errors.js';
import { quote } from '../../core/text.js';
import type { AbortListener, Grant, LockRequest } from '../../core/lock-store.js';
import type { Watchdog, WatchEntry, Watched } from '../../core/watchdog.js';
import type { CommonRefusal } from './line-machine.js';

/** One call of `acquire`, until it is granted or given up. */
export class PendingRequest<Name> implements Watched, AbortListener {
  readonly promise: Promise<Grant>;
  watchEntry: WatchEntry | undefined;
  /** What to reject with, once the request is out of the line. */
  cancellation: unknown;

  private readonly requestedAt = performance.now();
  private resolve!: (grant: Grant) => void;
  private reject!: (error: unknown) => void;

  constructor(
    readonly request: LockRequest,
    /** Among the requests of its line. */
    readonly name: Name,
    private readonly watchdog: Watchdog,
    /** Called when the wait time is over or the caller aborts, with the error to reject with. */
    private readonly line: { giveUp(call: PendingRequest<Name>, error: unknown): void },
  ) {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    const { signal, waitTime } = request;
    signal?.addEventListener('abort', this, { once: true });
    if (waitTime > 0 && waitTime < Infinity) watchdog.schedule(this, this.requestedAt + waitTime);
  }

  /** Milliseconds since the call. */
  get waited(): number {
    return performance.now() - this.requestedAt;
  }

  grant(grant: Grant): void {
    this.end();
    this.resolve(grant);
  }

  fail(error: unknown): void {
    this.end();
    this.reject(error);
  }

  private end(): void {
    this.watchdog.cancel(this);
    this.request.signal?.removeEventListener('abort', this);
  }

  /** The wait time is over. */
  onDue(): void {
    const { key, waitTime } = this.request;
    this.line.giveUp(this, new LockTimeoutError(key, waitTime));
  }

  /** The caller aborts. */
  handleEvent(): void {
    const { key, signal } = this.request;
    this.line.giveUp(this, abortError(key, signal?.reason));
  }
}

/** What a caller is rejected with that does not get the lock. */
export function refusalError(refusal: CommonRefusal, call: PendingRequest<unknown>): unknown {
  const { key, waitTime, leaseTime = 0, maxQueue } = call.request;
  switch (refusal.why) {
    case 'wait time':
    case 'busy':
      return new LockTimeoutError(key, waitTime, refusal.blocker);
    case 'lease too short':
      return leaseTooShort(key, leaseTime, refusal.missed);
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

function leaseTooShort(key: string, leaseTime: number, missed: number): LockConfigurationError {
  return new LockConfigurationError(
    `A leaseTime of ${leaseTime} ms is too short for the lock ${quote(key)}: ${missed} times in a row it was over before this process ` +
      'heard that it had the lock. The lock is not taken. Choose a leaseTime of many round trips to Redis, or none: then the lease is ' +
      'renewed for as long as the section runs.',
    'The lease asked for is too short.',
  );
}

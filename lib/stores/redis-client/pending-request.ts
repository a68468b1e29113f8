import { abortError, type FairLockError, LockTimeoutError } from '../../core/errors.js';
import type { AbortListener, Grant, LockRequest } from '../../core/lock-store.js';
import type { Watchdog, WatchEntry, Watched } from '../../core/watchdog.js';

/** One request, from the call until it is granted or given up: settled exactly once. */
export class PendingRequest implements Watched, AbortListener {
  readonly promise: Promise<Grant>;
  settled = false;
  watchEntry: WatchEntry | undefined;

  private readonly requestedAt = performance.now();
  private resolve!: (grant: Grant) => void;
  private reject!: (error: unknown) => void;

  constructor(
    readonly request: LockRequest,
    private readonly watchdog: Watchdog,
    /** Its line, called when the wait time is over or the caller aborts, with the error to reject with. */
    private readonly requests: { giveUp(waiter: PendingRequest, error: FairLockError): void },
  ) {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    request.signal?.addEventListener('abort', this, { once: true });
  }

  /** Schedules the end of the wait time. To be called once, after the request was sent, so as not to delay it. */
  limitWait(): void {
    const { waitTime } = this.request;
    if (this.settled || waitTime === 0 || waitTime === Infinity) return;
    this.watchdog.schedule(this, this.requestedAt + waitTime);
  }

  /** It wants the lock now or not at all. */
  get tries(): boolean {
    return this.request.waitTime === 0;
  }

  /** Milliseconds since the call. */
  get waited(): number {
    return performance.now() - this.requestedAt;
  }

  grant(grant: Grant): void {
    if (this.settle()) this.resolve(grant);
  }

  fail(error: unknown): void {
    if (this.settle()) this.reject(error);
  }

  /** False if it was settled already. */
  private settle(): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.watchdog.cancel(this);
    this.request.signal?.removeEventListener('abort', this);
    return true;
  }

  /** The wait time is over. */
  onDue(): void {
    const { key, waitTime } = this.request;
    this.requests.giveUp(this, new LockTimeoutError(key, waitTime));
  }

  /** The caller aborts. */
  handleEvent(): void {
    const { key, signal } = this.request;
    this.requests.giveUp(this, abortError(key, signal?.reason));
  }
}

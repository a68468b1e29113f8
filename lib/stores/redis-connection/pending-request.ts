import { abortError, type FairLockError, LockTimeoutError } from '../../core/errors.js';
import type { Grant, LockRequest } from '../../core/lock-store.js';
import type { Watchdog, WatchEntry, Watched } from '../../core/watchdog.js';

/** One request, from the call until it is granted or given up: settled exactly once. */
export class PendingRequest implements Watched {
  readonly promise: Promise<Grant>;
  settled = false;
  watchEntry: WatchEntry | undefined;

  private readonly askedAt = performance.now();
  private resolve!: (grant: Grant) => void;
  private reject!: (error: unknown) => void;
  private readonly onAbort: (() => void) | undefined;

  constructor(
    readonly request: LockRequest,
    private readonly watchdog: Watchdog,
    /** Called when the wait time ends or the caller aborts, with the error to reject with. */
    private readonly onGiveUp: (error: FairLockError) => void,
  ) {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    const { key, signal, waitTime } = request;
    if (signal) {
      this.onAbort = () => this.onGiveUp(abortError(key, signal.reason));
      signal.addEventListener('abort', this.onAbort, { once: true });
    }
    if (waitTime > 0 && waitTime !== Infinity) watchdog.schedule(this, this.askedAt + waitTime);
  }

  /** It wants the lock now or not at all. */
  get tries(): boolean {
    return this.request.waitTime === 0;
  }

  /** Milliseconds since the call. */
  get waited(): number {
    return performance.now() - this.askedAt;
  }

  grant(grant: Grant): void {
    if (this.settle()) this.resolve(grant);
  }

  fail(error: unknown): void {
    if (this.settle()) this.reject(error);
  }

  /** No longer to be granted; false if it was settled already. `rejectSettled` follows, once the last words are known. */
  settle(): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.watchdog.cancel(this);
    if (this.onAbort) this.request.signal?.removeEventListener('abort', this.onAbort);
    return true;
  }

  rejectSettled(error: unknown): void {
    this.reject(error);
  }

  /** The wait time is over. */
  onDue(): void {
    const { key, waitTime } = this.request;
    this.onGiveUp(new LockTimeoutError(key, waitTime));
  }
}

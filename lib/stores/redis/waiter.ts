import { FairLockError, LockAbortedError, LockTimeoutError } from '../../core/errors.js';
import type { Grant, LockRequest } from '../../core/lock-store.js';
import type { Asking } from './line-commands.js';

/** Node's largest timer delay. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** One request in line, from the call until it is granted or given up: settled exactly once. */
export class Waiter implements Asking {
  readonly promise: Promise<Grant>;
  /** Place in line, given by Redis; 0 before the first acknowledgement. */
  ticket = 0;
  /** The client's generation under which the request was last acknowledged (M5). */
  generation = 0;
  /** Whether an acquire is under way. */
  asking = false;
  /** Only an acknowledgement of a later command than this counts (M6); 0: there is no need for another. */
  need = 0;
  /** The last command that took it out of the line. */
  leftOrder = 0;
  /** Its command may still run, or have run twice (R13): monotonic time of its last deadline. */
  unsureUntil = 0;
  settled = false;
  /** Settled without the lock. */
  gaveUp = false;
  readonly joinedAt = performance.now();

  private resolve!: (grant: Grant) => void;
  private reject!: (error: unknown) => void;
  private timer: NodeJS.Timeout | undefined;
  private readonly onAbort: (() => void) | undefined;

  constructor(
    readonly request: LockRequest,
    readonly sequence: number,
    readonly label: string,
    /** Called when the wait time ends or the caller aborts, with the error to reject with. */
    private readonly onGiveUp: (waiter: Waiter, error: FairLockError) => void,
  ) {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    const { signal, waitTime } = request;
    if (signal) {
      this.onAbort = () => this.onGiveUp(this, abortError(request.key, signal));
      signal.addEventListener('abort', this.onAbort, { once: true });
    }
    if (waitTime > 0 && waitTime !== Infinity) this.armTimer();
  }

  get leaseTime(): number | undefined {
    return this.request.leaseTime;
  }

  get tries(): boolean {
    return this.request.waitTime === 0;
  }

  get maxQueue(): number {
    return this.request.maxQueue;
  }

  get waited(): number {
    return performance.now() - this.joinedAt;
  }

  /** Acknowledged in line. */
  queued(ticket: number, answer: { order: number; generation: number }, ahead: number): void {
    const joined = this.ticket === 0;
    this.ticket = ticket;
    this.generation = answer.generation;
    if (answer.order > this.need) this.need = 0;
    if (joined && !this.settled) this.request.onQueued?.(ahead);
  }

  grant(grant: Grant): void {
    if (this.settle()) this.resolve(grant);
  }

  fail(error: unknown): void {
    if (this.settle()) this.reject(error);
  }

  /** No longer to be granted, but its promise is rejected a moment later (the last words of the server are awaited). */
  settle(): boolean {
    if (this.settled) return false;
    this.settled = true;
    clearTimeout(this.timer);
    if (this.onAbort) this.request.signal?.removeEventListener('abort', this.onAbort);
    return true;
  }

  /** Rejects after `settle`. */
  rejectSettled(error: unknown): void {
    this.reject(error);
  }

  private armTimer(): void {
    const left = Math.ceil(this.request.waitTime - this.waited);
    this.timer = setTimeout(
      () => {
        if (this.waited < this.request.waitTime) this.armTimer();
        else this.onGiveUp(this, new LockTimeoutError(this.request.key, this.request.waitTime));
      },
      Math.min(Math.max(left, 0), LONGEST_TIMER),
    );
  }
}

/** The typed error for an aborted wait; a FairLockError given as reason is thrown as it is. */
export function abortError(key: string, signal: AbortSignal): FairLockError {
  const reason: unknown = signal.reason;
  return reason instanceof FairLockError ? reason : new LockAbortedError(key, reason);
}

import type { Linked } from '../../core/linked-list.js';
import type { AbortListener, Grant, LockRequest } from '../../core/lock-store.js';

/** Node's largest timer delay; a longer wait is reached in several steps. */
const MAX_DELAY = 2 ** 31 - 1;

/** The two ways in which a waiter gives up. */
export interface WaiterExits {
  /** Its wait time is over. */
  overdue(waiter: Waiter): void;
  /** Its caller's signal aborted. */
  aborted(waiter: Waiter): void;
}

/** A request in line. */
export class Waiter implements AbortListener, Linked<Waiter> {
  previous: Waiter | undefined;
  next: Waiter | undefined;

  /** When it joined the line, on the monotonic clock. */
  private readonly joined = performance.now();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly request: LockRequest,
    private readonly exits: WaiterExits,
    private readonly resolve: (grant: Grant) => void,
    private readonly reject: (error: unknown) => void,
  ) {}

  /** Milliseconds in line. */
  get waited(): number {
    return performance.now() - this.joined;
  }

  /** Starts to listen for the end of the wait time and for the caller's signal. */
  watch(): void {
    this.request.signal?.addEventListener('abort', this, { once: true });
    if (this.request.waitTime !== Infinity) this.checkTime();
  }

  /** Its turn has come. */
  serve(grant: Grant): void {
    this.unwatch();
    this.resolve(grant);
  }

  /** It is out of the line and will not be served. */
  refuse(error: unknown): void {
    this.unwatch();
    this.reject(error);
  }

  private readonly checkTime = (): void => {
    // The clock decides, not the timer: Node's may fire up to 1 ms early.
    const left = this.request.waitTime - this.waited;
    if (left <= 0) this.exits.overdue(this);
    else this.timer = setTimeout(this.checkTime, Math.min(Math.ceil(left), MAX_DELAY));
  };

  /** The caller's signal aborted. */
  handleEvent(): void {
    this.exits.aborted(this);
  }

  private unwatch(): void {
    clearTimeout(this.timer);
    this.request.signal?.removeEventListener('abort', this);
  }
}

import type { Linked } from '../runtime/linked-list.js';
import type { AbortListener, LockRequest } from './lock-store.js';
import type { Timers, TimedTask, TimerEntry } from '../runtime/timers.js';

/** Calls waiters when their wait times are over. */
export type WaitTimers = Pick<Timers, 'schedule' | 'cancel'>;

/** The methods of a line that its waiters call. */
interface Line<T, Name> {
  /** The wait time is over. */
  overdue(waiter: Waiter<T, Name>): void;
  /** Its caller aborts. */
  aborted(waiter: Waiter<T, Name>): void;
}

/**
 * A request in the line of one store or one hold, until it is served or refused. It differs from its `LockRequest` in two facts: it has the
 * promise and the timer, and its line may end it.
 */
export class Waiter<T, Name = undefined> implements TimedTask, AbortListener, Linked<Waiter<T, Name>> {
  previous: Waiter<T, Name> | undefined;
  next: Waiter<T, Name> | undefined;
  timerEntry: TimerEntry | undefined;
  readonly promise: Promise<T>;
  /** When it joined the line, on the monotonic clock. */
  readonly since = performance.now();
  private resolve!: (outcome: T) => void;
  private reject!: (error: unknown) => void;

  constructor(
    readonly request: LockRequest,
    /** Identifies it among the requests of its line. */
    readonly name: Name,
    private readonly line: Line<T, Name>,
    private readonly timers: WaitTimers,
  ) {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Milliseconds in line. */
  get waited(): number {
    return performance.now() - this.since;
  }

  /**
   * Begins to listen to its caller, and for the end of its wait time.
   *
   * @param deadline on the monotonic clock; Infinity: none
   */
  watch(deadline: number): void {
    this.request.signal?.addEventListener('abort', this);
    if (deadline < Infinity) this.timers.schedule(this, deadline);
  }

  serve(outcome: T): void {
    this.end();
    this.resolve(outcome);
  }

  refuse(error: unknown): void {
    this.end();
    this.reject(error);
  }

  onDue(): void {
    this.line.overdue(this);
  }

  handleEvent(): void {
    this.line.aborted(this);
  }

  private end(): void {
    this.timers.cancel(this);
    this.request.signal?.removeEventListener('abort', this);
  }
}

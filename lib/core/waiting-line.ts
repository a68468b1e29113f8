import { abortError, LockQueueFullError, LockTimeoutError } from './errors.js';
import { LinkedList, type Linked } from './linked-list.js';
import type { AbortListener, LockRequest } from './lock-store.js';
import type { Watchdog, Watched, WatchEntry } from './watchdog.js';

/** Up to how many ahead the error of an ended wait counts, so that it costs no more than that. */
const MOST_COUNTED = 1_000;

/** The holder that the waiters wait for. */
interface Blocker {
  readonly holder?: string;
  readonly heldFor?: number | undefined;
}

/** Requests of one process that wait for one holder: first come, first served. */
export class WaitingLine<T> {
  readonly waiters = new LinkedList<Waiter<T>>();

  constructor(
    /** Calls a waiter when its wait time is over. */
    private readonly timers: Pick<Watchdog, 'schedule' | 'cancel'>,
    private readonly blocker: () => Blocker,
  ) {}

  /**
   * Resolves with what `serve` gives the request.
   *
   * @param deadline when the wait time is over, on the monotonic clock
   * @throws LockTimeoutError when the wait time is over, at once for a try
   * @throws LockQueueFullError when `maxQueue` requests wait already
   */
  async join(request: LockRequest, deadline: number): Promise<T> {
    const ahead = this.waiters.size;
    if (deadline <= performance.now()) throw this.timeoutError(request, ahead);
    if (ahead >= request.maxQueue) throw new LockQueueFullError(request.key, request.maxQueue);
    return await new Promise((resolve, reject) => {
      const waiter = new Waiter(request, this, resolve, reject);
      this.waiters.add(waiter);
      request.signal?.addEventListener('abort', waiter);
      if (deadline < Infinity) this.timers.schedule(waiter, deadline);
      try {
        // Last, because it may do anything: abort this very wait, or throw.
        request.onQueued?.(ahead);
      } catch (error) {
        this.refuse(waiter, error);
      }
    });
  }

  /** Serves the first waiter with what `make` gives it; false if none waits. */
  serve(make: (waiter: Waiter<T>) => T): boolean {
    const { first } = this.waiters;
    if (!first) return false;
    this.remove(first);
    first.resolve(make(first));
    return true;
  }

  /** Refuses all waiters. */
  fail(error: Error): void {
    for (const waiter of this.waiters.all()) this.refuse(waiter, error);
  }

  refuse(waiter: Waiter<T>, error: unknown): void {
    this.remove(waiter);
    waiter.reject(error);
  }

  /** The wait time of the waiter is over. */
  overdue(waiter: Waiter<T>): void {
    this.refuse(waiter, this.timeoutError(waiter.request, countAhead(waiter)));
  }

  private remove(waiter: Waiter<T>): void {
    this.waiters.delete(waiter);
    this.timers.cancel(waiter);
    waiter.request.signal?.removeEventListener('abort', waiter);
  }

  private timeoutError({ key, waitTime }: LockRequest, ahead: number | undefined): LockTimeoutError {
    return new LockTimeoutError(key, waitTime, { ...this.blocker(), ...(ahead !== undefined && { ahead }) });
  }
}

/** A request in line. */
class Waiter<T> implements Watched, AbortListener, Linked<Waiter<T>> {
  previous: Waiter<T> | undefined;
  next: Waiter<T> | undefined;
  watchEntry: WatchEntry | undefined;
  private readonly joined = performance.now();

  constructor(
    readonly request: LockRequest,
    private readonly line: WaitingLine<T>,
    readonly resolve: (outcome: T) => void,
    readonly reject: (error: unknown) => void,
  ) {}

  /** Milliseconds in line. */
  get waited(): number {
    return performance.now() - this.joined;
  }

  onDue(): void {
    this.line.overdue(this);
  }

  /** The wait was ended from outside. */
  handleEvent(): void {
    this.line.refuse(this, abortError(this.request.key, this.request.signal?.reason));
  }
}

/** Undefined if they are more than `MOST_COUNTED`. */
function countAhead<T>(waiter: Waiter<T>): number | undefined {
  let ahead = 0;
  for (let other = waiter.previous; other; other = other.previous) {
    if (ahead === MOST_COUNTED) return undefined;
    ahead += 1;
  }
  return ahead;
}

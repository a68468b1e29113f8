import { abortError, LockQueueFullError, LockTimeoutError } from '../errors/errors.js';
import { LinkedList } from '../runtime/linked-list.js';
import type { LockRequest } from '../port/lock-store.js';
import type { Wait, WaitLine, WaitTimers } from '../port/wait.js';

/** The error of an ended wait counts at most this many requests ahead, to limit its cost. */
const MOST_COUNTED = 1_000;

/** Requests of one process that wait for one holder: first come, first served. */
export class WaitingLine<T> implements WaitLine<T> {
  readonly waiters = new LinkedList<Wait<T>>();

  constructor(
    private readonly timers: WaitTimers,
    private readonly blocker: () => LockTimeoutError['blockedBy'],
  ) {}

  /**
   * Resolves with what `serve` gives the request.
   *
   * @param deadline when the wait time is over, on the monotonic clock
   * @throws LockTimeoutError when the wait time is over, at once for a try
   * @throws LockQueueFullError when `maxQueue` requests wait already
   */
  async join(waiter: Wait<T>, deadline: number): Promise<T> {
    const { request } = waiter;
    const ahead = this.waiters.size;
    if (deadline <= performance.now()) throw this.timeoutError(request, ahead);
    if (ahead >= request.maxQueue) throw new LockQueueFullError(request.key, request.maxQueue);
    this.waiters.add(waiter);
    waiter.enter(this, this.timers, deadline);
    try {
      // Call it last: the callback may abort this very wait, or throw.
      waiter.queued(ahead);
    } catch (error) {
      this.refuse(waiter, error);
    }
    return await waiter.promise;
  }

  /** Serves the first waiter with the result of `make`; false if none waits. */
  serve(make: (waiter: Wait<T>) => T): boolean {
    const { first } = this.waiters;
    if (!first) return false;
    this.waiters.delete(first);
    first.serve(make(first));
    return true;
  }

  /** Refuses all waiters. */
  fail(error: Error): void {
    for (const waiter of this.waiters.all()) this.refuse(waiter, error);
  }

  overdue(waiter: Wait<T>): void {
    this.refuse(waiter, this.timeoutError(waiter.request, countAhead(waiter)));
  }

  aborted(waiter: Wait<T>): void {
    this.refuse(waiter, abortError(waiter.request.key, waiter.reason));
  }

  private refuse(waiter: Wait<T>, error: unknown): void {
    this.waiters.delete(waiter);
    waiter.refuse(error);
  }

  private timeoutError({ key, waitTime }: LockRequest, ahead: number | undefined): LockTimeoutError {
    return new LockTimeoutError(key, waitTime, { ...this.blocker(), ...(ahead !== undefined && { ahead }) });
  }
}

/** How many waiters are ahead; undefined if more than `MOST_COUNTED`. */
function countAhead<T>(waiter: Wait<T>): number | undefined {
  let ahead = 0;
  for (let other = waiter.previous; other; other = other.previous) {
    if (ahead === MOST_COUNTED) return undefined;
    ahead += 1;
  }
  return ahead;
}

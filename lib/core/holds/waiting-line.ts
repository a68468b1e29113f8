import { abortError, LockQueueFullError, LockTimeoutError } from '../errors/errors.js';
import { LinkedList } from '../runtime/linked-list.js';
import type { LockRequest } from '../port/lock-store.js';
import type { Wait, WaitLine, WaitTimers } from '../port/wait.js';

/** The error of an ended wait counts at most this many requests ahead, to limit its cost. */
const MOST_COUNTED = 1_000;

/** What a queue leads to. */
export interface Serving<T> {
  /** Whether the first in the queue is served now. If not, it blocks all behind it. */
  admits(request: LockRequest): boolean;
  /** What it is served with. */
  serve(waiter: Wait<T>): T;
  /** What those in the queue wait for, for the errors of those that give up. */
  blocker(): LockTimeoutError['blockedBy'];
}

/** Requests of one process that wait for one lock: first come, first served. */
export class WaitingLine<T> implements WaitLine<T> {
  readonly waiters = new LinkedList<Wait<T>>();
  private willPass = false;

  constructor(
    private readonly timers: WaitTimers,
    private readonly serving: Serving<T>,
  ) {}

  /**
   * Resolves with what the request is served with.
   *
   * @param id what the store calls it, if it is the queue of a store
   * @throws LockTimeoutError when `waitTime` has elapsed, immediately for a try
   * @throws LockQueueFullError when `maxQueue` requests are already waiting
   */
  async join(waiter: Wait<T>, id?: string): Promise<T> {
    const ahead = this.waiters.size;
    if (waiter.deadline <= performance.now()) throw this.timeoutError(waiter, ahead);
    if (ahead >= waiter.maxQueue) throw new LockQueueFullError(waiter.key, waiter.maxQueue);
    this.waiters.add(waiter);
    waiter.enter(this, this.timers);
    try {
      // Call it last: the callback may abort this very wait, or throw.
      waiter.queued(ahead, id);
    } catch (error) {
      this.refuse(waiter, error);
    }
    this.pass();
    return await waiter.promise;
  }

  /** Serves the first in the queue, as long as it is admitted. Call it whenever that may have changed. */
  pass(): void {
    for (;;) {
      const { first } = this.waiters;
      if (!first || !this.serving.admits(first)) return;
      this.waiters.delete(first);
      first.serve(this.serving.serve(first));
    }
  }

  /** Ends all waits with `outcome`. */
  dismiss(outcome: T): void {
    for (const waiter of this.waiters.all()) {
      this.waiters.delete(waiter);
      waiter.serve(outcome);
    }
  }

  /** Rejects all waiters. */
  fail(error: Error): void {
    for (const waiter of this.waiters.all()) {
      this.waiters.delete(waiter);
      waiter.refuse(error);
    }
  }

  overdue(waiter: Wait<T>): void {
    this.refuse(waiter, this.timeoutError(waiter, countAhead(waiter)));
  }

  aborted(waiter: Wait<T>): void {
    this.refuse(waiter, abortError(waiter.key, waiter.reason));
  }

  private refuse(waiter: Wait<T>, error: unknown): void {
    this.waiters.delete(waiter);
    waiter.refuse(error);
    this.passSoon();
  }

  /**
   * Those behind one that gives up may have waited for it alone: readers behind a writer. They are served when all that the same event ends
   * have left, for they may be among those: a signal of several calls aborts, or the application shuts down.
   */
  private passSoon(): void {
    if (this.willPass || this.waiters.size === 0) return;
    this.willPass = true;
    queueMicrotask(() => {
      this.willPass = false;
      this.pass();
    });
  }

  private timeoutError({ key, waitTime }: LockRequest, ahead: number | undefined): LockTimeoutError {
    return new LockTimeoutError(key, waitTime, {
      ...this.serving.blocker(),
      ...(ahead !== undefined && { ahead }),
    });
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

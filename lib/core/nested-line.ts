import type { CheckedOptions } from './acquire-options.js';
import { abortError, LockQueueFullError, LockTimeoutError } from './errors.js';
import type { AbortListener, AbortSource } from './lock-store.js';
import type { Watchdog, Watched } from './watchdog.js';

/** The holder that the waiters wait for. */
export interface Blocker {
  readonly holder: string;
  readonly heldFor: number;
}

/** A request that waits to nest, and the part of its call that matters for that. */
export interface NestingWait extends AbortSource {
  readonly key: string;
  readonly call: {
    readonly options: CheckedOptions;
    readonly waitTime: number;
    readonly deadline: number;
    queued(ahead: number): void;
    /** Milliseconds left to wait. */
    remaining(): number;
  };
}

/** Requests that wait to nest in a hold while another is nested in it: first come, first served. */
export class NestedLine<T> {
  private readonly waiters = new Set<NestedWaiter<T>>();

  constructor(
    private readonly watchdog: Watchdog,
    private readonly blocker: () => Blocker,
  ) {}

  /**
   * Resolves with what `serve` makes when the request is served, or with undefined when the line is dissolved.
   *
   * @throws LockTimeoutError when the wait time is over, at once for a try
   * @throws LockQueueFullError when `maxQueue` requests wait already
   */
  async join(wait: NestingWait): Promise<T | undefined> {
    const { call, key } = wait;
    const ahead = this.waiters.size;
    if (call.remaining() === 0) throw this.timeoutError(wait, ahead);
    if (ahead >= call.options.maxQueue) throw new LockQueueFullError(key, call.options.maxQueue);
    const served = new Promise<T | undefined>((resolve, reject) => {
      this.waiters.add(new NestedWaiter(wait, this, this.watchdog, resolve, reject));
    });
    // Last, because the callback may do anything, even abort this wait.
    call.queued(ahead);
    return await served;
  }

  /** Serves the first waiter. */
  serve(make: (wait: NestingWait) => T): void {
    for (const first of this.waiters) {
      this.remove(first);
      first.resolve(make(first.wait));
      return;
    }
  }

  /** The hold has ended: each waiter must request the lock anew. */
  dissolve(): void {
    for (const waiter of this.waiters) {
      this.remove(waiter);
      waiter.resolve(undefined);
    }
  }

  /** Refuses all waiters with `error`. */
  fail(error: Error): void {
    for (const waiter of this.waiters) this.refuse(waiter, error);
  }

  refuse(waiter: NestedWaiter<T>, error: Error): void {
    this.remove(waiter);
    waiter.reject(error);
  }

  overdue(waiter: NestedWaiter<T>): void {
    this.refuse(waiter, this.timeoutError(waiter.wait, [...this.waiters].indexOf(waiter)));
  }

  private remove(waiter: NestedWaiter<T>): void {
    this.waiters.delete(waiter);
    waiter.stopWatching();
  }

  private timeoutError({ key, call }: NestingWait, ahead: number): LockTimeoutError {
    return new LockTimeoutError(key, call.waitTime, { ...this.blocker(), ahead });
  }
}

class NestedWaiter<T> implements Watched, AbortListener {
  constructor(
    readonly wait: NestingWait,
    private readonly line: NestedLine<T>,
    private readonly watchdog: Watchdog,
    readonly resolve: (served: T | undefined) => void,
    readonly reject: (error: Error) => void,
  ) {
    wait.addEventListener('abort', this);
    if (wait.call.deadline < Infinity) watchdog.schedule(this, wait.call.deadline);
  }

  stopWatching(): void {
    this.wait.removeEventListener('abort', this);
    this.watchdog.cancel(this);
  }

  /** The wait was ended from outside. */
  handleEvent(): void {
    this.line.refuse(this, abortError(this.wait.key, this.wait.reason));
  }

  onDue(): void {
    this.line.overdue(this);
  }
}

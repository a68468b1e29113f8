import { detached } from '../runtime/async-context.js';
import type { Linked } from '../runtime/linked-list.js';
import type { Share } from '../options/sharing.js';
import type { Grant, LockRequest } from './request.js';
import type { Timers, TimedTask, TimerEntry } from '../runtime/timers.js';

/** Calls waits when their times have elapsed. */
export type WaitTimers = Pick<Timers, 'schedule' | 'cancel'>;

/** What a queue does about a wait in it. */
export interface WaitLine<Outcome> {
  /** `waitTime` has elapsed. */
  overdue(wait: Wait<Outcome>): void;
  /** It was aborted, for `wait.reason`. */
  aborted(wait: Wait<Outcome>): void;
}

/** Who waits. */
export interface Caller {
  /** The wait was put in the queue: see `Wait.queued`. */
  queued(ahead: number): void;
}

/** Methods, and no functions, so that a wait for anything is a `Wait<unknown>`. */
interface Ends<Outcome> {
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/**
 * One request for one lock, with its promise, its deadline and its abort, until the queue of a store or of a hold serves or rejects it.
 */
export class Wait<Outcome = Grant> implements LockRequest, TimedTask, Linked<Wait<Outcome>> {
  readonly key: string;
  readonly waitTime: number;
  readonly leaseTime: number | undefined;
  readonly maxQueue: number;
  readonly share: Share | undefined;
  readonly alone: boolean;
  readonly label: string;

  previous: Wait<Outcome> | undefined;
  next: Wait<Outcome> | undefined;
  timerEntry: TimerEntry | undefined;
  /** What the store calls it, as `inspect` shows it; undefined before it is in a queue of the store. */
  id: string | undefined;
  readonly promise: Promise<Outcome>;
  /** When it began, on the monotonic clock. */
  readonly since = performance.now();
  /** When `waitTime` has elapsed, on the monotonic clock. */
  readonly deadline: number;
  aborted = false;
  reason: unknown;
  /** The queue in which it stands; undefined before and after. */
  private line: WaitLine<Outcome> | undefined;
  private timers: WaitTimers | undefined;
  private resolve!: Ends<Outcome>['resolve'];
  private reject!: Ends<Outcome>['reject'];

  /** @param deadline of a call that has waited before; absent: `waitTime` from now */
  constructor(
    { key, waitTime, leaseTime, maxQueue, share, alone = false, label }: LockRequest,
    private readonly caller?: Caller,
    deadline?: number,
  ) {
    this.key = key;
    this.waitTime = waitTime;
    this.leaseTime = leaseTime;
    this.maxQueue = maxQueue;
    this.share = share;
    this.alone = alone;
    this.label = label;
    this.deadline = deadline ?? this.since + waitTime;
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** A process with nothing else to do lives until the wait has ended. */
  get keepsAlive(): boolean {
    return true;
  }

  /** Milliseconds since it began. */
  get waited(): number {
    return performance.now() - this.since;
  }

  /** Whether it stands in a queue. */
  get inLine(): boolean {
    return this.line !== undefined;
  }

  /** It stands in `line` from now on, which hears of its abort and of the end of its wait time. A try ends when its response says so. */
  enter(line: WaitLine<Outcome>, timers: WaitTimers): void {
    this.line = line;
    this.timers = timers;
    if (this.waitTime > 0) timers.schedule(this, this.deadline);
  }

  /**
   * The queue calls it once, when the request was put in the queue, with how many requests will be served before it (holder not counted), and
   * a store with what it calls the request.
   */
  queued(ahead: number, id?: string): void {
    this.id = id;
    this.caller?.queued(ahead);
  }

  serve(outcome: Outcome): void {
    this.exit();
    this.resolve(outcome);
  }

  refuse(error: unknown): void {
    this.exit();
    this.reject(error);
  }

  /** Ends the wait, if it still stands in a queue: it is rejected with `reason`, or with an error that contains it. */
  abort(reason?: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const { line } = this;
    if (line) detached(() => line.aborted(this));
  }

  onDue(): void {
    this.line?.overdue(this);
  }

  private exit(): void {
    this.timers?.cancel(this);
    this.line = undefined;
  }
}

import { LinkedList, type Linked } from '../../core/linked-list.js';

/** Something that must have been answered by a time. */
interface Awaited<T> extends Linked<T> {
  /** On the monotonic clock. */
  readonly deadline: number;
}

/**
 * One timer for all commands under way. Their deadlines are all equally far away, so the order of sending is the order
 * of deadlines, and a queue with one timer for its head replaces a timer for each command.
 *
 * What was answered is let go at once: under load the answered ones would fill the old generation of the heap else.
 */
export class DeadlineQueue<T extends Awaited<T>> {
  private readonly queue = new LinkedList<T>();
  private timer: NodeJS.Timeout | undefined;

  /** @param onOverdue called once for each whose deadline has passed without an answer; must not throw */
  constructor(private readonly onOverdue: (overdue: T) => void) {}

  get empty(): boolean {
    return this.queue.first === undefined;
  }

  add(awaited: T): void {
    this.queue.add(awaited);
    if (!this.timer) this.arm(awaited);
  }

  /** The answer came; false: too late. */
  answered(awaited: T): boolean {
    return this.queue.delete(awaited);
  }

  /** For good: what is still without an answer will not be waited for. */
  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const awaited of this.queue.all()) this.giveUp(awaited);
  }

  private arm(first: T): void {
    // In a process that stood still, timers run before the sockets are read: what lies there is an answer in time.
    const check = (): unknown => setImmediate(() => this.check());
    this.timer = setTimeout(check, Math.max(1, Math.ceil(first.deadline - performance.now())));
    this.timer.unref();
  }

  private check(): void {
    this.timer = undefined;
    const time = performance.now();
    let { first } = this.queue;
    while (first && first.deadline <= time) {
      this.giveUp(first);
      first = this.queue.first;
    }
    if (first && !this.timer) this.arm(first);
  }

  private giveUp(awaited: T): void {
    this.queue.delete(awaited);
    this.onOverdue(awaited);
  }
}

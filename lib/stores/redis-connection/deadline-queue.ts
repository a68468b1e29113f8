/** Something that must have been answered by a time. */
export interface Awaited {
  /** On the monotonic clock. */
  readonly deadline: number;
  /** Set by `DeadlineQueue.answered`. */
  answered: boolean;
  /** Called once when the deadline has passed without an answer. Must not throw. */
  onOverdue(): void;
}

/** So many answered entries are dropped at once. */
const COMPACT_AT = 1_024;

/**
 * One timer for all commands under way. Their deadlines are all equally far away, so the order of sending is the order
 * of deadlines, and a queue with one timer for its head replaces a timer for each command.
 */
export class DeadlineQueue {
  private queue: Awaited[] = [];
  private head = 0;
  private timer: NodeJS.Timeout | undefined;

  add(awaited: Awaited): void {
    this.queue.push(awaited);
    if (!this.timer) this.arm(awaited);
  }

  /** The answer came. Entries are let go in order, soon: under load they would fill the old generation of the heap else. */
  answered(awaited: Awaited): void {
    awaited.answered = true;
    if (awaited !== this.queue[this.head]) return;
    do this.head += 1;
    while (this.queue[this.head]?.answered);
    if (this.head === this.queue.length) {
      this.queue.length = 0;
      this.head = 0;
    } else if (this.head >= COMPACT_AT) {
      this.queue.splice(0, this.head);
      this.head = 0;
    }
  }

  /** For good: what is still without an answer will not be waited for. */
  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const open = this.queue.slice(this.head);
    this.queue = [];
    this.head = 0;
    for (const awaited of open) if (!awaited.answered) awaited.onOverdue();
  }

  private arm(first: Awaited): void {
    // In a process that stood still, timers run before the sockets are read: what lies there is an answer in time.
    const check = (): unknown => setImmediate(() => this.check());
    this.timer = setTimeout(check, Math.max(1, Math.ceil(first.deadline - performance.now())));
    this.timer.unref();
  }

  private check(): void {
    this.timer = undefined;
    const time = performance.now();
    let first = this.queue[this.head];
    while (first && (first.answered || first.deadline <= time)) {
      this.head += 1;
      if (!first.answered) first.onOverdue();
      first = this.queue[this.head];
    }
    this.queue.splice(0, this.head);
    this.head = 0;
    if (first) this.arm(first);
  }
}

import { LinkedList, type Linked } from '../../core/linked-list.js';

/** The end of the time that one command may take. */
export class Deadline implements Linked<Deadline> {
  previous: Deadline | undefined;
  next: Deadline | undefined;
  readonly since = performance.now();

  constructor(readonly onOverdue: () => void) {}
}

/** The deadlines of a connection's commands. Each command may take equally long, so one timer serves all. */
export class Deadlines {
  private readonly pending = new LinkedList<Deadline>();
  private timer: NodeJS.Timeout | undefined;

  /** @param limit milliseconds */
  constructor(private readonly limit: number) {}

  /** Calls `onOverdue` when the limit is over, unless the deadline is met before. It must not throw. */
  add(onOverdue: () => void): Deadline {
    const deadline = new Deadline(onOverdue);
    this.pending.add(deadline);
    if (!this.timer) this.arm(this.limit);
    return deadline;
  }

  met(deadline: Deadline): void {
    this.pending.delete(deadline);
  }

  private arm(delay: number): void {
    // In a process that stood still, timers run before the sockets are read: what lies there is a reply in time.
    this.timer = setTimeout(() => setImmediate(() => this.look()), Math.ceil(delay));
    this.timer.unref();
  }

  private look(): void {
    this.timer = undefined;
    for (let oldest = this.pending.first; oldest; oldest = this.pending.first) {
      const left = oldest.since + this.limit - performance.now();
      if (left > 0) return this.arm(left);
      this.pending.delete(oldest);
      oldest.onOverdue();
    }
  }
}

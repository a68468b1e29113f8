import type { Timers, TimedTask } from './timers.js';

/** A wait or a hold that may take too long. */
export interface Slowable {
  /** When it began, on the monotonic clock. */
  readonly since: number;
  /** Whether it was reported already. */
  warned: boolean;
  /** Whether it is meant to take long. */
  readonly options: { readonly lasting: boolean };
}

/**
 * Reports once everything that takes longer than `limit` without being meant to.
 *
 * All have the same limit, so they fall due in the order in which they began. Therefore one timer, for the first of them, is enough.
 */
export class SlowWatch<T extends Slowable> implements TimedTask {
  /** Whether a look is scheduled. */
  private armed = false;

  /**
   * @param limit ms
   * @param inOrder those that go on, in the order in which they began
   * @param onSlow must not throw
   */
  constructor(
    private readonly timers: Timers,
    private readonly limit: number,
    private readonly inOrder: () => Iterable<T>,
    private readonly onSlow: (slow: T) => void,
  ) {}

  /** Call it when something begins. */
  begin(): void {
    if (this.armed) return;
    this.armed = true;
    this.timers.schedule(this, performance.now() + this.limit);
  }

  onDue(): void {
    this.armed = false;
    const time = performance.now();
    for (const item of this.inOrder()) {
      if (item.warned || item.options.lasting) continue;
      const due = item.since + this.limit;
      if (due > time) {
        this.armed = true;
        this.timers.schedule(this, due);
        return;
      }
      item.warned = true;
      this.onSlow(item);
    }
  }
}

import { LARGEST_NUMBER } from '../../core/option-domains.js';
import { type WaitTimers } from '../../core/waiter.js';
import { type Watched } from '../../core/watchdog.js';

/** A timer for each wait. It keeps the process alive, as no connection does here: each wait comes to its end. */
export class NodeTimers implements WaitTimers {
  private readonly timers = new Map<Watched, NodeJS.Timeout>();

  schedule(task: Watched, due: number): void {
    // The clock decides, not the timer: Node's may fire up to 1 ms early.
    const left = due - performance.now();
    if (left <= 0) return task.onDue();
    // A wait beyond Node's longest timer is reached in several steps.
    const timer = setTimeout(() => this.schedule(task, due), Math.min(Math.ceil(left), LARGEST_NUMBER));
    this.timers.set(task, timer);
  }

  cancel(task: Watched): void {
    clearTimeout(this.timers.get(task));
    this.timers.delete(task);
  }
}

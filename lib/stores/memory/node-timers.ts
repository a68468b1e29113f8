import { detached } from '../../core/runtime/async-context.js';
import { LARGEST_NUMBER } from '../../core/options/option-domains.js';
import { type WaitTimers } from '../../core/port/wait.js';
import { type TimedTask } from '../../core/runtime/timers.js';
import { unref } from '../../core/runtime/unref.js';

/** Sets a timer for each task, so that a store without tasks has no timer, as `Timers` has for up to a minute. */
export class NodeTimers implements WaitTimers {
  private readonly timers = new Map<TimedTask, NodeJS.Timeout>();

  /** @param due `Infinity`: never */
  schedule(task: TimedTask, due: number): void {
    this.cancel(task);
    // The clock decides, not the timer: Node's may fire up to 1 ms early.
    const left = due - performance.now();
    if (left <= 0) return task.onDue();
    // Rounded up, the largest number of an option is too much for Node, which would print a warning and fire after 1 ms.
    const delay = Math.min(Math.ceil(left), LARGEST_NUMBER);
    const timer = detached(() => setTimeout(() => this.schedule(task, due), delay));
    if (!task.keepsAlive) unref(timer);
    this.timers.set(task, timer);
  }

  cancel(task: TimedTask): void {
    const timer = this.timers.get(task);
    if (!timer) return;
    clearTimeout(timer);
    this.timers.delete(task);
  }
}

import type { KeptLock } from '../../core/port/lock-store.js';
import type { TimedTask } from '../../core/runtime/timers.js';

/** A lock whose hold ended before its `holdAtLeast` was over: nobody gets it until then. */
export class Kept implements TimedTask {
  /**
   * @param due when it is over, on the monotonic clock
   * @param onDue called then
   */
  constructor(
    private readonly who: string,
    private readonly token: number,
    readonly due: number,
    readonly onDue: () => void,
  ) {}

  describe(): KeptLock {
    return { who: this.who, token: this.token, left: this.due - performance.now() };
  }
}

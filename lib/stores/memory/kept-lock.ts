import type { KeptLock } from '../../core/port/lock-store.js';
import type { TimedTask } from '../../core/runtime/timers.js';
import type { MemoryGrant } from './memory-grant.js';

/** The part of a lock that an ended hold had: no request can have it until the `holdAtLeast` of that hold has elapsed. */
export class Kept implements TimedTask {
  constructor(
    /** The grant that has ended. */
    readonly grant: MemoryGrant,
    /** When it ends, on the monotonic clock. */
    readonly endsAt: number,
    /** Called then. */
    private readonly onEnd: (kept: Kept) => void,
  ) {}

  onDue(): void {
    this.onEnd(this);
  }

  describe(): KeptLock {
    const { who, token } = this.grant.describe();
    return { who, token, left: this.endsAt - performance.now() };
  }
}

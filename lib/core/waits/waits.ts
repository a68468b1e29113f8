import { beginWait, endWait, waitChannel } from '../diagnostics/diagnostics.js';
import { LockTimeoutError } from '../errors/errors.js';
import type { Wait } from '../port/wait.js';
import { LinkedList } from '../runtime/linked-list.js';
import type { SlowWatch } from '../runtime/slow-watch.js';
import type { Call } from './call.js';

/** A call that waits, as those who look at it see it. */
export type WaitingCall = Call & { readonly wait: Wait<unknown> };

/** The calls of an engine that wait. */
export class Waits {
  private readonly all = new LinkedList<Call>();
  /** Warns of long waits; undefined: they are not watched. */
  slowWatch: SlowWatch<WaitingCall> | undefined;
  /** Warns of waits that time out; undefined: they are not watched. */
  onTimeout: ((call: Call, error: LockTimeoutError) => void) | undefined;

  /** In the order in which the waits began. */
  present(): WaitingCall[] {
    return this.all.all() as WaitingCall[];
  }

  begin(call: Call, wait: Wait<unknown>): void {
    call.begin(wait);
    // A call that asks again continues with its description: to diagnostics that is one wait.
    if (!call.description && waitChannel.hasSubscribers) {
      call.description = beginWait(wait, call.options);
    }
    this.all.add(call);
    this.slowWatch?.begin();
  }

  /** The wait has ended here; the call may ask again. Has no effect if it has ended before. */
  leave(call: Call, error?: unknown): void {
    if (!this.all.delete(call)) return;
    call.end();
    if (error instanceof LockTimeoutError && !call.skips) this.onTimeout?.(call, error);
  }

  /** The call does not ask again. @param error absent: it was granted */
  end(call: Call, error?: unknown): void {
    this.leave(call, error);
    if (call.description) endWait(call.description, error, call.skips);
    call.description = undefined;
  }
}

import { beginWait, endWait, waitChannel } from '../diagnostics/diagnostics.js';
import { LockTimeoutError } from '../errors/errors.js';
import { LinkedList } from '../runtime/linked-list.js';
import type { SlowWatch } from '../runtime/slow-watch.js';
import { Wait, type AcquireCall } from './wait.js';

/** All waiting requests of an engine. */
export class Waits {
  private readonly all = new LinkedList<Wait>();
  /** Warns of long waits; undefined: they are not watched. */
  slowWatch: SlowWatch<Wait> | undefined;
  /** Warns of waits that time out; undefined: they are not watched. */
  onTimeout: ((wait: Wait, error: LockTimeoutError) => void) | undefined;

  /** The waits that have not ended, in the order in which they began. */
  present(): Wait[] {
    return this.all.all();
  }

  begin(key: string, call: AcquireCall): Wait {
    const wait = new Wait(key, call);
    // A call that asks anew goes on with its description: to diagnostics that is one wait.
    if (!call.description && waitChannel.hasSubscribers) call.description = beginWait(key, call.options);
    this.all.add(wait);
    if (this.slowWatch?.armed === false) this.slowWatch.begin();
    return wait;
  }

  /** @param error absent: it was granted */
  end(wait: Wait, error?: unknown): void {
    this.leave(wait);
    this.refused(wait, error);
    this.endDescription(wait.call, error);
  }

  /** Its line has refused it with `error`. */
  refused(wait: Wait, error: unknown): void {
    if (error instanceof LockTimeoutError) this.onTimeout?.(wait, error);
  }

  /** It is over here; the call may ask anew. */
  leave(wait: Wait): void {
    this.all.delete(wait);
    wait.end();
  }

  /** The wait of the call is over, also for diagnostics, unless that was said before. */
  endDescription(call: AcquireCall, error?: unknown): void {
    if (call.description) endWait(call.description, error);
    call.description = undefined;
  }
}

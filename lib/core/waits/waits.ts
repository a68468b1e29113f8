import { beginWait, endWait, waitChannel } from '../diagnostics/diagnostics.js';
import { LockTimeoutError } from '../errors/errors.js';
import { LinkedList } from '../runtime/linked-list.js';
import type { SlowWatch } from '../runtime/slow-watch.js';
import type { Grant, LockRequest } from '../port/lock-store.js';
import { CallWait, type AcquireCall } from './wait.js';

/** All waiting requests of an engine. */
export class Waits {
  /** The calls that wait. */
  private readonly all = new LinkedList<AcquireCall>();
  /** Warns of long waits; undefined: they are not watched. */
  slowWatch: SlowWatch<CallWait<unknown>> | undefined;
  /** Warns of waits that time out; undefined: they are not watched. */
  onTimeout: ((wait: CallWait<unknown>, error: LockTimeoutError) => void) | undefined;

  /** The waits that have not ended, in the order in which they began. */
  present(): CallWait<unknown>[] {
    return this.all.all().flatMap(({ wait }) => wait ?? []);
  }

  /** @param nested whether it waits for a hold of its flow */
  begin<Outcome = Grant>(request: LockRequest, call: AcquireCall, nested: boolean): CallWait<Outcome> {
    const wait = new CallWait<Outcome>(request, call, nested);
    call.wait = wait;
    // A call that asks again continues with its description: to diagnostics that is one wait.
    if (!call.description && waitChannel.hasSubscribers) {
      call.description = beginWait(request, call.options);
    }
    this.all.add(call);
    this.slowWatch?.begin();
    return wait;
  }

  /** @param error absent: it was granted */
  end(wait: CallWait<unknown>, error?: unknown): void {
    this.leave(wait);
    this.refused(wait, error);
    this.endDescription(wait.call, error);
  }

  /** Its line has refused it with `error`. */
  refused(wait: CallWait<unknown>, error: unknown): void {
    if (error instanceof LockTimeoutError && !wait.call.skips) this.onTimeout?.(wait, error);
  }

  /** It has ended here; the call may ask again. */
  leave(wait: CallWait<unknown>): void {
    this.all.delete(wait.call);
    wait.call.wait = undefined;
    wait.end();
  }

  /** The wait of the call has ended, also for diagnostics, unless that was said before. */
  endDescription(call: AcquireCall, error?: unknown): void {
    if (call.description) endWait(call.description, error, call.skips);
    call.description = undefined;
  }
}

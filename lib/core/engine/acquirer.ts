import { endInReverse, type Hold } from '../holds/hold.js';
import type { Holds } from '../holds/holds.js';
import { detached } from '../runtime/async-context.js';
import { emit, eventChannel } from '../diagnostics/diagnostics.js';
import { abortError, LockDeadlockError, LockShuttingDownError, LockTimeoutError } from '../errors/errors.js';
import { keyHeldAround, nearestHold } from '../holds/lock-handle.js';
import { lockOrder, requireKey, type LockKeys, type Target } from '../options/lock-keys.js';
import { refuseSharing } from '../options/sharing.js';
import type { Grant, LockStore } from '../port/lock-store.js';
import { quote } from '../errors/text.js';
import { Wait } from '../port/wait.js';
import type { Call } from '../waits/call.js';
import type { Shutdown } from '../waits/shutdown.js';
import type { MixedKinds } from './mixed-kinds.js';
import type { Waits } from '../waits/waits.js';

/**
 * Obtains the holds of a call, one for each key: nested in a hold of the flow, or granted by the store.
 */
export class Acquirer {
  constructor(
    private readonly store: LockStore,
    private readonly holds: Holds,
    private readonly waits: Waits,
    private readonly shutdown: Shutdown,
    private readonly mixedKinds: MixedKinds,
  ) {}

  /** All keys of a call. Throws, or rejects with, what `LockEngine.acquire` throws. */
  take(keys: LockKeys, call: Call): Promise<Hold | readonly Hold[]> {
    if (typeof keys !== 'string') return this.takeAll(keys, call);
    const { share } = call.options;
    if (share) refuseSharing(this.store);
    return this.acquire({ key: requireKey(keys), encoded: this.store.encode(keys), share }, call);
  }

  /** Takes all keys or none: if one key cannot be had, the holds taken so far are released. */
  private async takeAll(keys: Exclude<LockKeys, string>, call: Call): Promise<readonly Hold[]> {
    const taken: Hold[] = [];
    try {
      const targets = lockOrder(keys, (name) => this.store.encode(name), call.options.share);
      if (targets.some(({ share }) => share)) refuseSharing(this.store);
      const { leaseTime } = call.options;
      if (targets.length > 1) call.taken = taken;
      for (const target of targets) taken.push(await this.acquire(target, call));
      // A hold may have been lost while the flow waited for the next key.
      for (const hold of taken) refuseIfLost(hold);
      // Until now their leases were renewed: that of the first would run down while the call waited for the last.
      if (leaseTime !== undefined && targets.length > 1) {
        const own = taken.filter((hold) => hold === hold.outermost);
        await detached(() => Promise.all(own.map(({ grant }) => grant.fix(leaseTime))));
        for (const hold of taken) refuseIfLost(hold);
      }
      if (call.taken) for (const hold of taken) hold.limit(call.options);
    } catch (error) {
      await endInReverse(taken);
      throw error;
    }
    return taken;
  }

  private acquire(target: Target, call: Call): Promise<Hold> {
    const { key, encoded } = target;
    const { signal } = call.options;
    if (this.shutdown.closed) throw new LockShuttingDownError(key, call.options.label);
    if (signal?.aborted) throw abortError(key, signal.reason);
    const outer = call.scope && nearestHold(call.scope, this.holds, encoded);
    return outer ? this.nest(outer, target, call) : this.obtainFromStore(target, call);
  }

  private async nest(outer: Hold, target: Target, call: Call): Promise<Hold> {
    const { key, share } = target;
    const { maxQueue, label } = call.options;
    refuseNested(outer, key, call);
    const atOnce = outer.tryToNest({ label, share });
    if (atOnce) return limited(atOnce, call);
    this.assertMayWait(key, call, outer);
    const request = { key, waitTime: call.waitTime, maxQueue, label, share };
    // Only the caller hears of its place.
    const caller = { queued: (ahead: number) => call.onQueued?.(ahead) };
    const wait = new Wait<Hold | undefined>(request, caller, call.deadline);
    this.waits.begin(call, wait);
    let refusal: unknown;
    try {
      const nested = await outer.waitToNest(wait);
      if (nested) return limited(nested, call);
      // The outer hold ended before the turn of the request came: it asks again.
      this.waits.leave(call);
      return await this.acquire(target, call);
    } catch (error) {
      refusal = error;
      throw error;
    } finally {
      this.waits.end(call, refusal);
    }
  }

  private async obtainFromStore(target: Target, call: Call): Promise<Hold> {
    const { key, encoded, share } = target;
    this.mixedKinds.check(target, call.options.label);
    this.assertMayWait(key, call);
    const { leaseTime, holdAtLeast, maxQueue, label } = call.options;
    const isFixedLater = call.taken !== undefined && leaseTime !== undefined;
    const lease = isFixedLater ? undefined : leaseTime;
    const alone = holdAtLeast > 0 || isFixedLater;
    const request = { key, waitTime: call.waitTime, leaseTime: lease, alone, maxQueue, share, label };
    const wait = new Wait(request, call, call.deadline);
    this.waits.begin(call, wait);
    let grant: Grant;
    try {
      grant = await detached(() => this.store.acquire(wait));
    } catch (error) {
      const refusal =
        error instanceof LockTimeoutError ? this.withCause(error, encoded, call, wait.since) : error;
      this.waits.end(call, refusal);
      throw refusal;
    }
    const tooLate = this.shutdown.drained ? new LockShuttingDownError(key, call.options.label) : undefined;
    this.waits.end(call, tooLate);
    if (tooLate) {
      await detached(() => grant.release());
      throw tooLate;
    }
    if (eventChannel.hasSubscribers) {
      emit({ type: 'granted', key, lock: call.options.lock, token: grant.token });
    }
    return limited(this.holds.begin(wait, grant, encoded, call.options), call);
  }

  /** @param outer the hold that it waits to nest in; undefined: it waits for the store */
  private assertMayWait(key: string, call: Call, outer?: Hold): void {
    refuseEndlessWait(key, call, outer);
    this.shutdown.assertMayWait(key, call);
  }

  /** Adds to the error of a wait what is known here of its cause. */
  private withCause(error: LockTimeoutError, encoded: string, call: Call, since: number): LockTimeoutError {
    const { key, waitTime } = error;
    if (waitTime === 0) return error;
    const blocker = { ...error.blockedBy };
    const heldHereFor = this.holds.heldFor(encoded);
    const awayFor = Math.round(this.store.awaySince?.(since) ?? 0);
    const leaseLeft = call.leaseLeftOf(blocker.holder);
    const inside = call.keysAround;
    if (heldHereFor !== undefined) blocker.heldHereFor = heldHereFor;
    if (awayFor > 0) blocker.awayFor = awayFor;
    if (leaseLeft !== undefined) blocker.leaseLeft = leaseLeft;
    if (inside.length > 0) blocker.inside = inside;
    return new LockTimeoutError(key, waitTime, blocker);
  }
}

/** With several keys, `maxHold` counts from when all are held. */
function limited(hold: Hold, call: Call): Hold {
  if (!call.taken) hold.limit(call.options);
  return hold;
}

/** Rejects a wait that could never end. A finite wait ends; and keys of one call are safe, since all calls take keys in one order. */
function refuseEndlessWait(key: string, call: Call, outer?: Hold): void {
  if (call.waitTime < Infinity) return;
  const inside = keyHeldAround(call.scope, outer);
  if (inside === undefined) return;
  throw new LockDeadlockError(
    key,
    `waitTime is Infinity inside a hold on ${quote(inside)}, and two calls that take the same two locks in ` +
      'opposite order would wait forever. Set a finite waitTime, or request all keys in one call.',
  );
}

/** Rejects a request for a key that its flow already holds (`outer`), if that hold is lost or must not be re-entered. */
function refuseNested(outer: Hold, key: string, call: Call): void {
  refuseIfLost(outer);
  if (call.options.reentrant) return;
  throw new LockDeadlockError(
    key,
    'this call already holds it, and with reentrant: false it would wait for itself. Remove reentrant: false, or ask for it after the outer call has ended.',
  );
}

function refuseIfLost({ grant }: Hold): void {
  const lost = grant.lease.lostError;
  if (lost) throw lost;
}

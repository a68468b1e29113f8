import { throwIfAborted, type AcquireCall, type Wait } from './acquire-call.js';
import { detached } from './detached.js';
import { happened, hasListeners, lockNameOf } from './diagnostics.js';
import { LockDeadlockError, LockShuttingDownError, LockTimeoutError } from './errors.js';
import type { ActiveGrant, ActiveGrants } from './active-grants.js';
import { nearestHold } from './hold-scope.js';
import { Hold } from './hold.js';
import type { Grant, LockStore } from './lock-store.js';
import type { Owners } from './owners.js';
import { quote } from './text.js';
import type { Waits } from './waits.js';

/** Obtains the hold of one key: nested in one of the flow's, entered again by its owner, or granted by the store. */
export class Acquirer {
  constructor(
    private readonly store: LockStore,
    private readonly owners: Owners,
    private readonly grants: ActiveGrants,
    private readonly waits: Waits,
  ) {}

  /** Throws, or rejects with, what `LockEngine.acquire` throws. */
  acquire(key: string, encoded: string, call: AcquireCall): Promise<Hold> {
    if (this.waits.closed) throw new LockShuttingDownError(key);
    throwIfAborted(key, call.options.signal);
    if (call.options.owner !== undefined) {
      const held = this.owners.held(call.options.owner, encoded);
      if (!held) return this.obtainFromStore(key, encoded, call);
      refuseNested(held, key, call);
      return Promise.resolve(new Hold(held, call.options.label));
    }
    const outer = nearestHold(call.scope, this.grants, encoded);
    return outer ? this.nest(outer, key, encoded, call) : this.obtainFromStore(key, encoded, call);
  }

  private async nest(outer: Hold, key: string, encoded: string, call: AcquireCall): Promise<Hold> {
    refuseNested(outer.held, key, call);
    if (outer.free) return outer.nest(call.options.label);
    // The outer hold may end before the turn of the request comes; then it requests the lock anew.
    return (await this.waitToNest(outer, key, call)) ?? (await this.acquire(key, encoded, call));
  }

  private async waitToNest(outer: Hold, key: string, call: AcquireCall): Promise<Hold | undefined> {
    this.refuseEndlessWait(key, call, outer);
    const wait = this.waits.begin(key, call);
    let refusal: unknown;
    try {
      return await outer.waitToNest(wait);
    } catch (error) {
      refusal = error;
      throw error;
    } finally {
      this.waits.end(wait, refusal);
    }
  }

  private obtainFromStore(key: string, encoded: string, call: AcquireCall): Promise<Hold> {
    this.refuseEndlessWait(key, call);
    const wait = this.waits.begin(key, call);
    const served = this.standInLine(encoded, wait);
    return call.options.owner === undefined
      ? served
      : this.owners.share(call.options.owner, encoded, wait, served);
  }

  private standInLine(encoded: string, wait: Wait): Promise<Hold> {
    return detached(() => this.store.acquire(wait)).then(
      (grant) => this.granted(grant, encoded, wait),
      (error: unknown) => this.refused(error, encoded, wait),
    );
  }

  private granted(grant: Grant, encoded: string, wait: Wait): Hold | Promise<Hold> {
    const tooLate = this.waits.drained ? new LockShuttingDownError(wait.key) : undefined;
    this.waits.end(wait, tooLate);
    if (tooLate) {
      return detached(() => grant.release()).then(() => {
        throw tooLate;
      });
    }
    if (hasListeners()) {
      happened({ type: 'granted', key: wait.key, lock: lockNameOf(wait.call.options), token: grant.token });
    }
    const held = this.grants.add(grant, encoded, wait.call);
    return new Hold(held, wait.call.options.label, undefined, held.description);
  }

  private refused(error: unknown, encoded: string, wait: Wait): never {
    this.waits.end(wait, error);
    if (!(error instanceof LockTimeoutError)) throw error;
    // The error names the wait time of the whole call, not what was left of it for this line.
    const { waitTime } = wait.call;
    const heldHereFor = waitTime > 0 ? this.grants.heldFor(encoded) : undefined;
    throw new LockTimeoutError(wait.key, waitTime, {
      ...error.blockedBy,
      ...(heldHereFor !== undefined && { heldHereFor }),
    });
  }

  /** Neither a finite wait nor one for several keys of one call is endless: keys of one call are taken in one order. */
  private refuseEndlessWait(key: string, call: AcquireCall, outer?: Hold): void {
    if (call.waitTime < Infinity) return;
    const inside = this.owners.keyHeldBy(call, outer);
    if (inside === undefined) return;
    throw new LockDeadlockError(
      key,
      `waitTime is Infinity inside a hold on ${quote(inside)}, and two flows that take the same two locks in ` +
        'opposite order would wait for ever. Give a finite waitTime, or ask for all keys at once.',
    );
  }
}

/** Refuses a flow or owner that asks for what it has `held` already, where that is lost or may not be entered again. */
function refuseNested(held: ActiveGrant, key: string, call: AcquireCall): void {
  refuseIfLost(held);
  if (call.options.reentrant) return;
  throw new LockDeadlockError(
    key,
    `${call.options.owner === undefined ? 'this flow' : `the owner ${quote(call.options.owner)}`} holds it already, and with ` +
      'reentrant: false it would wait for itself.',
  );
}

export function refuseIfLost(held: ActiveGrant): void {
  const lost = held.lease.lostError;
  if (lost) throw lost;
}

import type { Ask } from './ask.js';
import { LockDeadlockError, LockShuttingDownError, LockTimeoutError, quote } from './errors.js';
import type { HeldGrants } from './held-grants.js';
import { nearestHold } from './hold-scope.js';
import type { HeldGrant, Hold } from './hold.js';
import type { Grant, LockStore } from './lock-store.js';
import type { Owners } from './owners.js';
import type { Shutdown } from './shutdown.js';
import { throwIfAborted, type Wait } from './wait.js';

/** Obtains the hold of one key: nested in one of the flow's, entered again by its owner, or granted by the store. */
export class Acquirer {
  constructor(
    private readonly store: LockStore,
    private readonly owners: Owners,
    private readonly grants: HeldGrants,
    private readonly shutdown: Shutdown,
  ) {}

  /** @throws what `LockEngine.acquire` throws */
  async acquire(key: string, encoded: string, ask: Ask): Promise<Hold> {
    for (;;) {
      if (this.shutdown.closed) throw new LockShuttingDownError(key);
      throwIfAborted(key, ask.signal);
      if (ask.owner !== undefined) {
        const held = this.owners.held(ask.owner, encoded);
        if (!held) return await this.obtainFromStore(key, encoded, ask);
        refuseNested(held, key, ask);
        return held.enter(ask.label);
      }
      const outer = nearestHold(ask.scope, this.grants, encoded);
      if (!outer) return await this.obtainFromStore(key, encoded, ask);
      refuseNested(outer.held, key, ask);
      if (outer.free) return outer.nest(ask.label);
      const nested = await this.waitToNest(outer, key, ask);
      if (nested) return nested;
      // The outer hold ended before its turn came: it asks anew.
    }
  }

  private async waitToNest(outer: Hold, key: string, ask: Ask): Promise<Hold | undefined> {
    this.refuseEndlessWait(key, ask, outer);
    const wait = this.shutdown.startWait(key, ask);
    try {
      return await outer.waitToNest(wait);
    } finally {
      this.shutdown.endWait(wait);
    }
  }

  private async obtainFromStore(key: string, encoded: string, ask: Ask): Promise<Hold> {
    this.refuseEndlessWait(key, ask);
    const wait = this.shutdown.startWait(key, ask);
    try {
      const served = this.standInLine(encoded, wait);
      return await (ask.owner === undefined ? served : this.owners.share(ask.owner, encoded, wait, served));
    } finally {
      this.shutdown.endWait(wait);
    }
  }

  private async standInLine(encoded: string, wait: Wait): Promise<Hold> {
    const { key, ask } = wait;
    const { maxQueue, label, leaseTime, onQueued } = ask;
    let grant: Grant;
    try {
      grant = await this.store.acquire({
        key,
        waitTime: ask.remaining(),
        maxQueue,
        label,
        signal: wait,
        ...(leaseTime !== undefined && { leaseTime }),
        ...(onQueued && { onQueued }),
      });
    } catch (error) {
      // The caller knows the wait time of the whole, not what was left of it for this line.
      throw error instanceof LockTimeoutError
        ? new LockTimeoutError(key, ask.waitTime, error.blockedBy)
        : error;
    }
    if (this.shutdown.drained) {
      await grant.release();
      throw new LockShuttingDownError(key);
    }
    return this.grants.add(grant, encoded, ask);
  }

  /** Finite waits end by themselves, and several keys asked for at once are taken in one order: neither is refused. */
  private refuseEndlessWait(key: string, ask: Ask, outer?: Hold): void {
    if (ask.waitTime < Infinity) return;
    const inside = this.owners.keyHeldBy(ask, outer);
    if (inside === undefined) return;
    throw new LockDeadlockError(
      key,
      `waitTime is Infinity inside a hold on ${quote(inside)}, and two flows that take the same two locks in ` +
        'opposite order would wait for ever. Give a finite waitTime, or ask for all keys at once.',
    );
  }
}

/** Re-entering, by flow or by owner, what is `held`. */
function refuseNested(held: HeldGrant, key: string, ask: Ask): void {
  refuseIfLost(held);
  if (ask.reentrant) return;
  throw new LockDeadlockError(
    key,
    `${ask.owner === undefined ? 'this flow' : `the owner ${quote(ask.owner)}`} holds it already, and with ` +
      'reentrant: false it would wait for itself.',
  );
}

export function refuseIfLost(held: HeldGrant): void {
  const lost = held.lease.lostError;
  if (lost) throw lost;
}

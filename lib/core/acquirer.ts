import type { Ask } from './ask.js';
import { LockDeadlockError, LockShuttingDownError, LockTimeoutError, quote } from './errors.js';
import type { HeldGrants } from './held-grants.js';
import { nearestHold } from './hold-scope.js';
import type { HeldGrant, Hold } from './hold.js';
import type { AbortSource, Grant, LockRequest, LockStore } from './lock-store.js';
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

  /** Throws, or rejects with, what `LockEngine.acquire` throws. */
  acquire(key: string, encoded: string, ask: Ask): Promise<Hold> {
    if (this.shutdown.closed) throw new LockShuttingDownError(key);
    throwIfAborted(key, ask.signal);
    if (ask.owner !== undefined) {
      const held = this.owners.held(ask.owner, encoded);
      if (!held) return this.obtainFromStore(key, encoded, ask);
      refuseNested(held, key, ask);
      return Promise.resolve(held.enter(ask.label));
    }
    const outer = nearestHold(ask.scope, this.grants, encoded);
    return outer ? this.nest(outer, key, encoded, ask) : this.obtainFromStore(key, encoded, ask);
  }

  private async nest(outer: Hold, key: string, encoded: string, ask: Ask): Promise<Hold> {
    refuseNested(outer.held, key, ask);
    if (outer.free) return outer.nest(ask.label);
    // If the outer hold ended before its turn came, it asks anew.
    return (await this.waitToNest(outer, key, ask)) ?? (await this.acquire(key, encoded, ask));
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

  private obtainFromStore(key: string, encoded: string, ask: Ask): Promise<Hold> {
    this.refuseEndlessWait(key, ask);
    const wait = this.shutdown.startWait(key, ask);
    const served = this.standInLine(encoded, wait);
    return ask.owner === undefined ? served : this.owners.share(ask.owner, encoded, wait, served);
  }

  private standInLine(encoded: string, wait: Wait): Promise<Hold> {
    return this.store.acquire(new RequestOfWait(wait)).then(
      (grant) => this.granted(grant, encoded, wait),
      (error: unknown) => this.refused(error, wait),
    );
  }

  private granted(grant: Grant, encoded: string, wait: Wait): Hold | Promise<Hold> {
    this.shutdown.endWait(wait);
    if (this.shutdown.drained) {
      return grant.release().then(() => {
        throw new LockShuttingDownError(wait.key);
      });
    }
    return this.grants.add(grant, encoded, wait.ask);
  }

  private refused(error: unknown, wait: Wait): never {
    this.shutdown.endWait(wait);
    // The caller knows the wait time of the whole, not what was left of it for this line.
    throw error instanceof LockTimeoutError
      ? new LockTimeoutError(wait.key, wait.ask.waitTime, error.blockedBy)
      : error;
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

/** What a wait asks the store for. */
class RequestOfWait implements LockRequest {
  readonly key: string;
  readonly waitTime: number;
  declare readonly leaseTime?: number;
  readonly maxQueue: number;
  readonly label: string;
  readonly signal: AbortSource;
  declare readonly onQueued?: (ahead: number) => void;

  constructor(wait: Wait) {
    const { key, ask } = wait;
    this.key = key;
    this.waitTime = ask.remaining();
    if (ask.leaseTime !== undefined) this.leaseTime = ask.leaseTime;
    this.maxQueue = ask.maxQueue;
    this.label = ask.label;
    this.signal = wait;
    if (ask.onQueued) this.onQueued = ask.onQueued;
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

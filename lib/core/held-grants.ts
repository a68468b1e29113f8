import type { EngineDefaults } from './acquire-options.js';
import type { Ask } from './ask.js';
import { LockShuttingDownError, quote } from './errors.js';
import { HeldGrant, type Hold } from './hold.js';
import { LinkedList } from './linked-list.js';
import type { Grant } from './lock-store.js';
import type { Owners } from './owners.js';
import type { Watchdog, Watched } from './watchdog.js';

/** All that an engine holds, and what can happen to it from outside: lost, held for too long, to be ended. */
export class HeldGrants {
  private readonly all = new LinkedList<HeldGrant>();

  constructor(
    private readonly watchdog: Watchdog,
    private readonly owners: Owners,
    private readonly warn: EngineDefaults['onWarning'],
  ) {}

  /** Takes in what the store granted; the asker has the first hold on it. */
  add(grant: Grant, encoded: string, ask: Ask): Hold {
    const limit = ask.maxHold < Infinity ? new MaxHold(grant, ask, this.warn) : undefined;
    const held = new HeldGrant(grant, encoded, this, ask, this.watchdog, limit);
    if (limit) this.watchdog.schedule(limit, performance.now() + ask.maxHold);
    this.all.add(held);
    grant.lease.onLost((error) => {
      held.refuseWaiting(error);
      this.warn(error.message, { key: grant.key, token: grant.token, label: ask.label });
    });
    return held.enter(ask.label);
  }

  done(held: HeldGrant): void {
    this.all.delete(held);
    if (held.limit) this.watchdog.cancel(held.limit);
    this.owners.release(held);
  }

  /** The drain time is over: asks all who hold to stop. */
  interrupt(): void {
    for (const { key, lease } of this.all.all()) lease.interrupt(new LockShuttingDownError(key));
  }

  async releaseAll(): Promise<void> {
    await Promise.all(this.all.all().map(({ grant }) => grant.release()));
  }
}

/** Ends the renewing of a grant that is held for too long, so that a hung section cannot hold for ever. */
class MaxHold implements Watched {
  constructor(
    private readonly grant: Grant,
    private readonly ask: Ask,
    private readonly warn: EngineDefaults['onWarning'],
  ) {}

  onDue(): void {
    const { grant, ask } = this;
    const why = `it was held for longer than maxHold (${ask.maxHold} ms)`;
    if (grant.lease.remaining() < Infinity) {
      this.warn(`The lock ${quote(grant.key)} will be lost when its lease runs out: ${why}.`, {
        key: grant.key,
        token: grant.token,
        label: ask.label,
      });
    }
    grant.lease.stopRenewing(why);
  }
}

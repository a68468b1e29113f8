import type { EngineDefaults } from './acquire-options.js';
import type { AcquireCall } from './acquire-call.js';
import { endHold, happened, lockNameOf, newHold, type HoldOutcome } from './diagnostics.js';
import { LockShuttingDownError } from './errors.js';
import { quote } from './text.js';
import { ActiveGrant, type Hold } from './hold.js';
import { LinkedList } from './linked-list.js';
import type { Grant } from './lock-store.js';
import type { Owners } from './owners.js';
import type { SlowWatch } from './slow-watch.js';
import type { Watchdog, Watched } from './watchdog.js';

/** All that an engine holds, and what can happen to it from outside: lost, held for too long, to be ended. */
export class ActiveGrants {
  private readonly all = new LinkedList<ActiveGrant>();
  /** Warns of holds that take long; undefined: they are not watched. */
  slowWatch: SlowWatch<ActiveGrant> | undefined;
  private onEmpty: (() => void) | undefined;

  constructor(
    private readonly watchdog: Watchdog,
    private readonly owners: Owners,
    private readonly warn: EngineDefaults['onWarning'],
  ) {}

  /** Takes in what the store granted; the asker has the first hold on it. */
  add(grant: Grant, encoded: string, call: AcquireCall): Hold {
    const limit = call.options.maxHold < Infinity ? new MaxHold(grant, call, this.warn) : undefined;
    const held = new ActiveGrant(grant, encoded, this, call, this.watchdog, limit);
    if (limit) this.watchdog.schedule(limit, performance.now() + call.options.maxHold);
    this.all.add(held);
    if (this.slowWatch?.armed === false) this.slowWatch.begin();
    grant.lease.onLost((error) => {
      happened({ type: 'lost', key: grant.key, lock: lockNameOf(call.options), why: error.why });
      held.refuseWaiting(error);
      this.warn(error.details, { key: grant.key, token: grant.token, label: call.options.label });
    });
    const hold = held.enter(call.options.label);
    held.description = newHold(grant.key, call.options, grant.token, grant.waited);
    hold.description = held.description;
    return hold;
  }

  done(held: ActiveGrant): void {
    this.all.delete(held);
    if (held.description) endHold(held.description, outcomeOf(held));
    if (held.limit) this.watchdog.cancel(held.limit);
    if (held.call.options.owner !== undefined) this.owners.release(held.call.options.owner, held);
    if (this.all.size === 0) this.onEmpty?.();
  }

  /** In the order of the grants. */
  present(): ActiveGrant[] {
    return this.all.all();
  }

  /** For how long (ms) this engine has held that key; undefined if it does not. For error texts: it looks at each. */
  heldFor(encoded: string): number | undefined {
    return this.present().find((held) => held.encoded === encoded)?.heldFor;
  }

  /** Resolves when nothing is held. */
  async empty(): Promise<void> {
    if (this.all.size > 0) await new Promise<void>((resolve) => (this.onEmpty = resolve));
  }

  /** The drain time is over: aborts the signals of all holds. */
  interrupt(): void {
    for (const { key, lease } of this.present()) lease.interrupt(new LockShuttingDownError(key));
  }

  async releaseAll(): Promise<void> {
    await Promise.all(this.present().map(({ grant }) => grant.release()));
  }
}

function outcomeOf({ limit, lease }: ActiveGrant): HoldOutcome {
  if (limit instanceof MaxHold && limit.reached) return 'max-hold';
  return lease.lostError ? 'lost' : 'released';
}

/** Ends the renewing of a grant that is held for too long, so that a hung section cannot hold for ever. */
class MaxHold implements Watched {
  reached = false;

  constructor(
    private readonly grant: Grant,
    private readonly call: AcquireCall,
    private readonly warn: EngineDefaults['onWarning'],
  ) {}

  onDue(): void {
    this.reached = true;
    const { grant, call } = this;
    const why = `it was held for longer than maxHold (${call.options.maxHold} ms)`;
    if (grant.lease.remaining() < Infinity) {
      this.warn(`The lock ${quote(grant.key)} will be lost when its lease runs out: ${why}.`, {
        key: grant.key,
        token: grant.token,
        label: call.options.label,
      });
    }
    grant.lease.stopRenewing(why);
  }
}

import { emit, endHold } from '../diagnostics/diagnostics.js';
import { LockShuttingDownError } from '../errors/errors.js';
import { withPage } from '../errors/pages.js';
import type { CheckedOptions, EngineDefaults } from '../options/acquire-options.js';
import type { Grant } from '../port/lock-store.js';
import type { Wait } from '../port/wait.js';
import { LinkedList } from '../runtime/linked-list.js';
import type { SlowWatch } from '../runtime/slow-watch.js';
import type { Timers } from '../runtime/timers.js';
import { Hold } from './hold.js';

/** The outermost holds of an engine, one for each grant. */
export class Holds {
  private readonly all = new LinkedList<Hold>();
  /** Warns of holds that take long; undefined: they are not watched. */
  slowWatch: SlowWatch<Hold> | undefined;
  private onEmpty: (() => void) | undefined;

  constructor(
    readonly timers: Timers,
    private readonly warn: EngineDefaults['onWarning'],
  ) {}

  /** Begins the hold of a grant that the store made for a wait of a call with `options`. */
  begin(wait: Wait, grant: Grant, encoded: string, options: CheckedOptions): Hold {
    const hold = new Hold(wait, grant, encoded, options, this);
    this.all.add(hold);
    const { leaseTime } = options;
    if (leaseTime !== undefined) grant.lease.endsBecause(`its leaseTime (${leaseTime} ms) elapsed`);
    this.slowWatch?.begin();
    grant.lease.onLost((error) => {
      emit({ type: 'lost', key: grant.key, lock: options.lock, why: error.why });
      hold.lost(error);
    });
    return hold;
  }

  ended(hold: Hold): void {
    this.all.delete(hold);
    this.timers.cancel(hold);
    if (hold.description) endHold(hold.description, hold.outcome);
    if (this.all.size === 0) this.onEmpty?.();
  }

  /** In the order of the grants. */
  present(): Hold[] {
    return this.all.all();
  }

  /** For how long (ms) a handle of this engine has held that key; undefined if none does. For error texts: it looks at each. */
  heldFor(encoded: string): number | undefined {
    return this.present().find((hold) => hold.handedOut && hold.encoded === encoded)?.heldFor;
  }

  /** Resolves when nothing is held. */
  async empty(): Promise<void> {
    if (this.all.size > 0) await new Promise<void>((resolve) => (this.onEmpty = resolve));
  }

  /** `drainTimeout` has elapsed: aborts the signals of all holds. */
  interrupt(): void {
    for (const { key, grant } of this.present()) grant.lease.interrupt(new LockShuttingDownError(key));
  }

  async releaseAll(): Promise<void> {
    await Promise.all(this.present().map((hold) => hold.release()));
  }

  /** Tells the operator what happened to a hold. */
  warnOf({ grant, options }: Pick<Hold, 'grant' | 'options'>, message: string): void {
    const line = withPage(message, 'troubleshooting#a-lock-was-lost');
    this.warn(line, { key: grant.key, token: grant.token, label: options.label });
  }
}

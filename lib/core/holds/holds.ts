import { emit, endHold } from '../diagnostics/diagnostics.js';
import { LockShuttingDownError } from '../errors/errors.js';
import { withPage } from '../errors/pages.js';
import { duration, quote } from '../errors/text.js';
import type { CheckedOptions, EngineDefaults } from '../options/acquire-options.js';
import type { Grant } from '../port/lock-store.js';
import type { Wait } from '../port/wait.js';
import { LinkedList } from '../runtime/linked-list.js';
import type { SlowWatch } from '../runtime/slow-watch.js';
import type { Timers } from '../runtime/timers.js';
import { Hold } from './hold.js';
import { currentScope, openLocks } from './lock-handle.js';

/** Waits until nothing is held but `own`. */
interface Emptying {
  readonly own: Set<Hold>;
  readonly resolve: () => void;
}

/** The outermost holds of an engine, one for each grant. */
export class Holds {
  private readonly all = new LinkedList<Hold>();
  /** Those whose callers have the handle, by the store's name for the key; the oldest first. */
  private readonly handles = new Map<string, Set<Hold>>();
  /** Warns of holds that take long; undefined: they are not watched. */
  slowWatch: SlowWatch<Hold> | undefined;
  private readonly emptying = new Set<Emptying>();

  constructor(
    readonly timers: Timers,
    private readonly warn: EngineDefaults['onWarning'],
    private readonly warnOfLeft = warn,
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
    const handles = this.handles.get(hold.encoded);
    if (handles?.delete(hold) && handles.size === 0) this.handles.delete(hold.encoded);
    this.timers.cancel(hold);
    if (hold.description) endHold(hold.description, hold.outcome);
    for (const each of this.emptying) {
      each.own.delete(hold);
      if (this.all.size > each.own.size) continue;
      this.emptying.delete(each);
      each.resolve();
    }
  }

  /** In the order of the grants. */
  present(): Hold[] {
    return this.all.all();
  }

  /** Those that the running flow is inside of. */
  ofFlow(): Set<Hold> {
    const holds = [...openLocks(currentScope())].flatMap((lock) =>
      lock.holds.map(({ outermost }) => outermost),
    );
    return new Set(holds.filter(({ keeper }) => keeper === this));
  }

  /** Its caller has the handle, whose code runs in no scope. */
  handedOut(hold: Hold): void {
    const ofKey = this.handles.get(hold.encoded);
    if (ofKey) ofKey.add(hold);
    else this.handles.set(hold.encoded, new Set([hold]));
  }

  /** For how long (ms) a handle of this engine has held that key; undefined if none does. */
  heldFor(encoded: string): number | undefined {
    const [oldest] = this.handles.get(encoded) ?? [];
    return oldest?.heldFor;
  }

  /** Resolves when nothing is held, except by `own`, the holds of this engine that the caller is inside of. */
  async empty(own: ReadonlySet<Hold>): Promise<void> {
    if (this.all.size <= own.size) return;
    await new Promise<void>((resolve) => this.emptying.add({ own: new Set(own), resolve }));
  }

  /** `drainTimeout` has elapsed: aborts the signals of all holds. */
  interrupt(): void {
    for (const { key, grant } of this.present()) grant.lease.interrupt(new LockShuttingDownError(key));
  }

  /** Takes the locks away from the sections that have not ended. */
  async releaseAll(): Promise<void> {
    for (const hold of this.present()) {
      const { key, heldFor, options } = hold;
      if (hold.outcome !== 'released') continue; // it was lost, and said so
      const line = withPage(
        `Shutdown: releasing the lock ${quote(key)} although ${options.label || 'the code that holds it'} is still running (for ` +
          `${duration(heldFor)}). It now runs unprotected, possibly alongside the next holder. Let it end when lock.signal aborts, or raise drainTimeout.`,
        'production#shutdown',
      );
      this.warnOf(hold, line, this.warnOfLeft);
    }
    await Promise.all(this.present().map((hold) => hold.release()));
  }

  /** Tells the operator what happened to a hold. */
  warnOf({ grant, options }: Hold, message: string, warn = this.warn): void {
    const line = withPage(message, 'troubleshooting#a-lock-was-lost');
    warn(line, { key: grant.key, token: grant.token, label: options.label });
  }
}

import type { CheckedOptions, EngineDefaults } from '../options/acquire-options.js';
import { detached } from '../runtime/async-context.js';
import { endHold, emit, holdChannel, newHold } from '../diagnostics/diagnostics.js';
import type { HoldDescription, HoldOutcome } from '../diagnostics/diagnostics.js';
import { LockShuttingDownError } from '../errors/errors.js';
import type { Lease } from '../port/lease.js';
import { LinkedList, type Linked } from '../runtime/linked-list.js';
import type { Target } from '../options/lock-keys.js';
import type { Grant, Share } from '../port/lock-store.js';
import type { SlowWatch } from '../runtime/slow-watch.js';
import { quote } from '../errors/text.js';
import type { Timers, TimerEntry, TimedTask } from '../runtime/timers.js';

const DONE = Promise.resolve();

let lastNumber = 0;

/**
 * A store's grant while it is in use; it is released when the last of its holds has ended. It differs from the store's `Grant` in two facts:
 * several holds of one flow share it, and it belongs to a call with options, such as `maxHold`.
 */
export class SharedGrant implements Linked<SharedGrant>, TimedTask {
  previous: SharedGrant | undefined;
  next: SharedGrant | undefined;
  timerEntry: TimerEntry | undefined;

  /** Its description for diagnostics, if there were subscribers. */
  readonly description: HoldDescription | undefined;
  /** Names it in the reports of this process. */
  readonly number = (lastNumber += 1);
  /** Whether a warning of its length was given. */
  warned = false;
  /** Holds that have not ended, nested ones included. */
  openHolds = 0;
  /** ms from the grant during which nobody else gets the lock: the longest `holdAtLeast` of its handles. */
  keep: number | undefined;
  /** The lines of requests that wait to nest in those holds; undefined if there are none. */
  lines: Set<{ fail(error: Error): void }> | undefined;
  /** When it was granted, on the monotonic clock. */
  readonly since = performance.now();
  /** Its lease was renewed at first and ends at a bound now, of which the store does not know. */
  isBounded = false;
  private pastMaxHold = false;

  constructor(
    private readonly granted: Grant,
    private readonly target: Pick<Target, 'encoded' | 'share'>,
    /** The engine's grants, to which it belongs: the same key of another engine is another lock. */
    readonly keeper: SharedGrants,
    /** The call that it was granted to. */
    readonly call: { readonly options: CheckedOptions },
  ) {
    if (holdChannel.hasSubscribers) this.description = newHold(granted, target.share, call.options);
  }

  get key(): string {
    return this.granted.key;
  }

  /** The store's name for the key. */
  get encoded(): string {
    return this.target.encoded;
  }

  /** How it shares the lock with others; undefined: it holds the lock alone. */
  get share(): Share | undefined {
    return this.target.share;
  }

  get lease(): Lease {
    return this.granted.lease;
  }

  /** Fencing token. */
  get token(): number | undefined {
    return this.granted.token;
  }

  /** Milliseconds since the grant. */
  get heldFor(): number {
    return performance.now() - this.since;
  }

  /** How it ended, or would end now. */
  get outcome(): HoldOutcome {
    if (this.pastMaxHold) return 'max-hold';
    return this.lease.lostError ? 'lost' : 'released';
  }

  /**
   * All keys of its call are held: `maxHold` counts from now, and so does `leaseTime` if the call took several keys. Until now their leases were
   * renewed, since the first would otherwise run down while the call waited for the last.
   */
  limit(several: boolean): void {
    const { maxHold, leaseTime = Infinity } = this.call.options;
    if (this.lease.lostError) return;
    this.isBounded = several && leaseTime < Infinity;
    if (this.isBounded) this.lease.limit(leaseTime);
    const most = this.isBounded ? Math.min(maxHold, leaseTime) : maxHold;
    if (most < Infinity) this.keeper.timers.schedule(this, performance.now() + most);
  }

  /** One of its holds has ended. Releases the grant if it was the last; resolves when the release is done. */
  holdEnded(): Promise<void> {
    this.openHolds -= 1;
    if (this.openHolds > 0) return DONE;
    // The release comes first: the next in line waits for it.
    const released = detached(() => this.release());
    this.keeper.done(this);
    return released;
  }

  /** Gives the grant back to the store. */
  release(): Promise<void> {
    return this.granted.release(this.keep);
  }

  /** `maxHold` has elapsed: stops renewing, so that a hung section cannot hold forever. Or the bound of its lease has. */
  onDue(): void {
    const { maxHold, leaseTime = Infinity } = this.call.options;
    if (this.isBounded && leaseTime <= maxHold) {
      const left = this.lease.remaining();
      // Looking at the state notices the loss.
      if (this.lease.state !== 'lost') this.keeper.timers.schedule(this, performance.now() + left);
      return;
    }
    this.pastMaxHold = true;
    const why = `it was held for longer than maxHold (${this.call.options.maxHold} ms)`;
    if (this.lease.remaining() < Infinity) {
      this.keeper.warnOf(this, `The lock ${quote(this.key)} will be LOST when its lease expires: ${why}.`);
    }
    this.lease.stopRenewing(why);
  }
}

/** All grants that an engine holds. Handles their loss, holds that are too long, and the end of holds by a shutdown. */
export class SharedGrants {
  private readonly all = new LinkedList<SharedGrant>();
  /** Warns of holds that take long; undefined: they are not watched. */
  slowWatch: SlowWatch<SharedGrant> | undefined;
  private onEmpty: (() => void) | undefined;

  constructor(
    readonly timers: Timers,
    private readonly warn: EngineDefaults['onWarning'],
  ) {}

  /** Adds a grant that the store made for `call`. */
  add(granted: Grant, target: Pick<Target, 'encoded' | 'share'>, call: SharedGrant['call']): SharedGrant {
    const grant = new SharedGrant(granted, target, this, call);
    this.all.add(grant);
    this.slowWatch?.begin();
    granted.lease.onLost((error) => {
      this.timers.cancel(grant);
      emit({ type: 'lost', key: grant.key, lock: call.options.lock, why: error.why });
      for (const line of grant.lines ?? []) line.fail(error);
      this.warnOf(grant, `${error.code}: ${error.details}`);
      if (grant.isBounded) void grant.release();
    });
    return grant;
  }

  done(grant: SharedGrant): void {
    this.all.delete(grant);
    this.timers.cancel(grant);
    if (grant.description) endHold(grant.description, grant.outcome);
    if (this.all.size === 0) this.onEmpty?.();
  }

  /** In the order of the grants. */
  present(): SharedGrant[] {
    return this.all.all();
  }

  /** For how long (ms) this engine has held that key; undefined if it does not. For error texts: it looks at each. */
  heldFor(encoded: string): number | undefined {
    return this.present().find((grant) => grant.encoded === encoded)?.heldFor;
  }

  /** Resolves when nothing is held. */
  async empty(): Promise<void> {
    if (this.all.size > 0) await new Promise<void>((resolve) => (this.onEmpty = resolve));
  }

  /** `drainTimeout` has elapsed: aborts the signals of all holds. */
  interrupt(): void {
    for (const { key, lease } of this.present()) lease.interrupt(new LockShuttingDownError(key));
  }

  async releaseAll(): Promise<void> {
    await Promise.all(this.present().map((grant) => grant.release()));
  }

  /** Tells the operator what happened to a grant. */
  warnOf({ key, token, call }: SharedGrant, message: string): void {
    this.warn(message, { key, token, label: call.options.label });
  }
}

import type { CheckedOptions, EngineDefaults } from '../options/acquire-options.js';
import { detached } from '../runtime/async-context.js';
import { endHold, emit, holdChannel, newHold } from '../diagnostics/diagnostics.js';
import type { HoldDescription, HoldOutcome } from '../diagnostics/diagnostics.js';
import { LockShuttingDownError } from '../errors/errors.js';
import type { Lease } from '../port/lease.js';
import { LinkedList, type Linked } from '../runtime/linked-list.js';
import type { Grant } from '../port/lock-store.js';
import type { Wait } from '../port/wait.js';
import type { SlowWatch } from '../runtime/slow-watch.js';
import { quote } from '../errors/text.js';
import { WaitingLine } from './waiting-line.js';
import type { Timers, TimerEntry, TimedTask } from '../runtime/timers.js';

const DONE = Promise.resolve();

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
  private pastMaxHold = false;

  constructor(
    readonly grant: Grant,
    /** The store's name for the key. */
    readonly encoded: string,
    /** The engine's grants, to which it belongs: the same key of another engine is another lock. */
    readonly keeper: SharedGrants,
    /** The call that it was granted to. */
    readonly call: { readonly options: CheckedOptions },
  ) {
    if (holdChannel.hasSubscribers) this.description = newHold(grant, call.options);
  }

  get key(): string {
    return this.grant.key;
  }

  get lease(): Lease {
    return this.grant.lease;
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

  /** All keys of its call are held: `maxHold` counts from now. */
  limit(): void {
    const { maxHold } = this.call.options;
    if (maxHold < Infinity && !this.lease.lostError)
      this.keeper.timers.schedule(this, performance.now() + maxHold);
  }

  /** One of its holds has ended. Releases the grant if it was the last; resolves when the release is done. */
  holdEnded(): Promise<void> {
    this.openHolds -= 1;
    if (this.openHolds > 0) return DONE;
    // The release comes first: the next in line waits for it.
    const released = detached(() => this.grant.release(this.keep));
    this.keeper.done(this);
    return released;
  }

  /** `maxHold` is over: stops renewing, so that a hung section cannot hold for ever. */
  onDue(): void {
    this.pastMaxHold = true;
    const why = `it was held for longer than maxHold (${this.call.options.maxHold} ms)`;
    if (this.lease.remaining() < Infinity) {
      this.keeper.warnOf(this, `The lock ${quote(this.key)} will be lost when its lease runs out: ${why}.`);
    }
    this.lease.stopRenewing(why);
  }
}

/**
 * The use of a grant by one section or one handle. It differs from the grant that it shares: it ends alone, while others go on. It differs from
 * the handle: a handle for several keys has a hold for each.
 *
 * Holds nest: a request for the same key from inside a hold becomes its child. Since an async flow may fork, a hold has at most one
 * active child, and further requests wait in its line. A hold whose section ends leaves its active child, if any, to its parent. The
 * last hold that ends releases the grant.
 */
export class Hold {
  private child: Hold | undefined;
  /** Requests that wait to nest in it. */
  private line: WaitingLine<Hold | undefined> | undefined;
  private readonly since = performance.now();
  /** The description of the grant; only the first hold has it. */
  readonly description: HoldDescription | undefined;

  constructor(
    readonly held: SharedGrant,
    readonly label: string,
    private parent?: Hold,
  ) {
    if (held.openHolds === 0) this.description = held.description;
    held.openHolds += 1;
  }

  /** Whether a nested request is served at once. */
  get free(): boolean {
    return !this.child;
  }

  /** Whether it is nested in `other`, however deep. */
  isInside(other: Hold): boolean {
    let { parent } = this;
    while (parent && parent !== other) ({ parent } = parent);
    return parent === other;
  }

  /** Makes the active child. Only while `free`. */
  nest(label: string): Hold {
    this.child = new Hold(this.held, label, this);
    return this.child;
  }

  /** Waits for the turn to nest; undefined if this hold ended before it came. */
  waitToNest(wait: Wait<Hold | undefined>, deadline: number): Promise<Hold | undefined> {
    this.line ??= this.newLine();
    return this.line.join(wait, deadline);
  }

  /** Ends the hold: its section has ended, or its handle was released. Call it once; resolves when a release that this causes is done. */
  end(): Promise<void> {
    if (this.line) {
      // Each waiting request gets undefined, and must request the lock anew.
      while (this.line.serve(() => undefined));
      this.held.lines?.delete(this.line);
    }
    // Else sections that began each other and ended would stay, in a chain without a limit.
    if (this.child) this.child.parent = this.parent;
    this.parent?.childEnded(this.child);
    return this.held.holdEnded();
  }

  /** @param next the active child that it leaves */
  private childEnded(next: Hold | undefined): void {
    this.child = next;
    // Reading the state of a lease that ran out unnoticed refuses all requests that wait here.
    if (!next && this.line && this.held.lease.state !== 'lost')
      this.line.serve(({ request }) => this.nest(request.label));
  }

  private newLine(): WaitingLine<Hold | undefined> {
    const line = new WaitingLine<Hold | undefined>(this.held.keeper.timers, () => ({
      holder: this.child?.label || 'another branch of the same flow',
      heldFor: performance.now() - (this.child?.since ?? this.since),
    }));
    (this.held.lines ??= new Set()).add(line);
    return line;
  }
}

/** Ends all of `holds`, the last first; resolves when the releases that this causes are done. */
export async function endInReverse(holds: readonly Hold[]): Promise<void> {
  await Promise.all(holds.toReversed().map((hold) => hold.end()));
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
  add(grant: Grant, encoded: string, call: SharedGrant['call']): SharedGrant {
    const held = new SharedGrant(grant, encoded, this, call);
    this.all.add(held);
    if (this.slowWatch?.armed === false) this.slowWatch.begin();
    grant.lease.onLost((error) => {
      this.timers.cancel(held);
      emit({ type: 'lost', key: grant.key, lock: call.options.lock, why: error.why });
      for (const line of held.lines ?? []) line.fail(error);
      this.warnOf(held, error.details);
    });
    return held;
  }

  done(held: SharedGrant): void {
    this.all.delete(held);
    this.timers.cancel(held);
    if (held.description) endHold(held.description, held.outcome);
    if (this.all.size === 0) this.onEmpty?.();
  }

  /** In the order of the grants. */
  present(): SharedGrant[] {
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
    await Promise.all(this.present().map(({ grant, keep }) => grant.release(keep)));
  }

  /** Tells the operator what happened to a grant. */
  warnOf({ key, grant, call }: SharedGrant, message: string): void {
    this.warn(message, { key, token: grant.token, label: call.options.label });
  }
}

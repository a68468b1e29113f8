import { holdChannel, newHold, type HoldDescription, type HoldOutcome } from '../diagnostics/diagnostics.js';
import type { LockLostError } from '../errors/errors.js';
import { quote } from '../errors/text.js';
import type { CheckedOptions } from '../options/acquire-options.js';
import { Held } from '../port/admission.js';
import type { Grant, LockRequest, Share } from '../port/lock-store.js';
import type { Wait } from '../port/wait.js';
import type { CallSite } from '../runtime/call-site.js';
import { detached } from '../runtime/async-context.js';
import type { Linked } from '../runtime/linked-list.js';
import type { TimedTask, TimerEntry, Timers } from '../runtime/timers.js';
import { shareInside } from './nesting.js';
import { WaitingLine } from './waiting-line.js';

/** What a hold is asked for. */
type Asked = Pick<LockRequest, 'label' | 'share'>;

/** The holds of an engine, as each of them sees it: the same key of another engine is another lock. */
interface Keeper {
  readonly timers: Timers;
  /** The last hold of the grant of `outermost` has ended. */
  ended(outermost: Hold): void;
  /** The caller of `outermost` has the handle. */
  handedOut(outermost: Hold): void;
  /** Tells the operator what happened to a hold. */
  warnOf(hold: Hold, message: string): void;
}

const DONE = Promise.resolve();

/**
 * The use of a lock by one section or one handle. A handle for several keys has a hold for each.
 *
 * Holds nest: a request for the same key from inside a hold becomes its child and shares its grant. An async flow may fork, and `Held` says
 * which children may be active together; other requests wait in the queue of the hold. A hold whose section ends leaves its active children
 * to its parent. The last hold that ends releases the grant.
 */
export class Hold implements Linked<Hold>, TimedTask {
  /** The first hold of the grant, in which all others are nested. It keeps what they share, even when it has ended itself. */
  readonly outermost: Hold;
  /** As what it was asked for. */
  readonly share: Share | undefined;
  private readonly label: string;
  /** When it began, on the monotonic clock. */
  readonly since = performance.now();
  /** The longest time it may last, ms. */
  private maxHold = Infinity;
  /** When that has elapsed, on the monotonic clock. */
  private due = Infinity;
  /** What it takes of its parent. */
  private takes: Share | undefined;
  private children: Set<Hold> | undefined;
  /** What the children take; undefined: there have been none. */
  private taken: Held | undefined;
  /** Requests that wait to nest in it. */
  private line: WaitingLine<Hold | undefined> | undefined;

  // Of the outermost:
  previous: Hold | undefined;
  next: Hold | undefined;
  /** Its description for diagnostics, if there were subscribers. */
  readonly description: HoldDescription | undefined;
  /** Whether a warning of its length was given. */
  warned = false;
  /** Where the caller that has its handle asked for it, if it gave no label. */
  site: CallSite | undefined;
  /** Holds of the grant that have not ended. */
  openHolds = 0;
  /** ms from the grant during which nobody else gets the lock: the longest `holdAtLeast` of its handles. */
  keep: number | undefined;
  timerEntry: TimerEntry | undefined;
  private isPastMaxHold = false;
  /** The queues of requests that wait to nest in one of its holds. */
  private lines: Set<WaitingLine<Hold | undefined>> | undefined;

  /**
   * @param encoded the store's name for the key
   * @param options of the call that the lock was granted to
   */
  constructor(
    { label, share }: Asked,
    readonly grant: Grant,
    readonly encoded: string,
    readonly options: CheckedOptions,
    readonly keeper: Keeper,
    private parent?: Hold,
  ) {
    this.label = label;
    this.share = share;
    this.outermost = parent?.outermost ?? this;
    this.outermost.openHolds += 1;
    if (!parent && holdChannel.hasSubscribers) this.description = newHold(grant, share, options);
  }

  get key(): string {
    return this.grant.key;
  }

  /** Milliseconds since it began. */
  get heldFor(): number {
    return performance.now() - this.since;
  }

  /** How the grant ended, or would end now. */
  get outcome(): HoldOutcome {
    if (this.isPastMaxHold) return 'max-hold';
    return this.grant.lease.lostError ? 'lost' : 'released';
  }

  /** A process with nothing else to do lives until `maxHold` has elapsed. */
  get keepsAlive(): boolean {
    return true;
  }

  /** Whether nothing is nested in it. */
  get free(): boolean {
    return !this.taken || this.taken.used === 0;
  }

  /** Whether it is nested in `other`, however deep. */
  isInside(other: Hold): boolean {
    let { parent } = this;
    while (parent && parent !== other) ({ parent } = parent);
    return parent === other;
  }

  /** The caller has the handle. */
  handOut(): void {
    if (this === this.outermost) this.keeper.handedOut(this);
  }

  /** All keys of its call are held: `maxHold` of the call counts from now. */
  limit({ maxHold }: Pick<CheckedOptions, 'maxHold'>): void {
    if (maxHold === Infinity) return;
    const due = performance.now() + maxHold;
    if (due >= this.outermost.due || this.grant.lease.lostError) return;
    this.maxHold = maxHold;
    this.due = due;
    this.keeper.timers.schedule(this, due);
  }

  /** `maxHold` has elapsed: stops renewing, so that a hung section cannot hold forever. What is nested hangs with what it is nested in. */
  onDue(): void {
    const { outermost, maxHold, label } = this;
    const { lease } = this.grant;
    if (outermost.isPastMaxHold || lease.lostError) return;
    outermost.isPastMaxHold = true;
    const why =
      this === outermost
        ? `it was held for longer than maxHold (${maxHold} ms)`
        : `${label || 'a call'} nested in it took longer than its maxHold (${maxHold} ms)`;
    lease.stopRenewing(why);
    if (lease.lostError) return;
    this.keeper.warnOf(this, `The lock ${quote(this.key)} will be LOST when its lease expires: ${why}.`);
  }

  /** The grant was lost. */
  lost(error: LockLostError): void {
    this.keeper.timers.cancel(this);
    for (const line of this.lines ?? []) line.fail(error);
    this.keeper.warnOf(this, `${error.code}: ${error.details}`);
  }

  /** Gives the grant back to the store. */
  release(): Promise<void> {
    return this.grant.release(this.keep);
  }

  /**
   * Nests a request immediately; undefined if it has to wait for others that are nested.
   *
   * @throws LockDeadlockError if it would wait for this very hold
   */
  tryToNest(asked: Asked): Hold | undefined {
    const takes = this.sharedWith(asked);
    const behind = (this.line?.waiters.size ?? 0) > 0;
    return !behind && this.hasRoomFor(takes) ? this.nest(asked) : undefined;
  }

  /** Waits for the turn to nest; undefined if this hold ended before it came. */
  waitToNest(wait: Wait<Hold | undefined>): Promise<Hold | undefined> {
    return (this.line ??= this.newLine()).join(wait);
  }

  /** Ends the hold: its section has ended, or its handle was released. Call it once; resolves when a release that this causes is done. */
  end(): Promise<void> {
    const { outermost, line } = this;
    if (line) {
      // Each of them must request the lock again.
      line.dismiss(undefined);
      outermost.lines?.delete(line);
    }
    // Else sections that began each other and ended would stay, in a chain without a limit: below it or above it.
    for (const child of this.children ?? []) child.parent = this.parent;
    this.parent?.childEnded(this);
    this.children = undefined;
    if (this !== outermost) this.keeper.timers.cancel(this);
    outermost.openHolds -= 1;
    if (outermost.openHolds > 0) return DONE;
    // The release comes first: the next in the queue waits for it.
    const released = detached(() => outermost.release());
    this.keeper.ended(outermost);
    return released;
  }

  private nest(asked: Asked): Hold {
    const { grant, encoded, options, keeper } = this;
    const child = new Hold(asked, grant, encoded, options, keeper, this);
    this.add(child);
    return child;
  }

  private childEnded(child: Hold): void {
    this.children?.delete(child);
    this.taken?.delete(child.takes);
    for (const left of child.children ?? []) this.add(left);
    // Reading the state of a lease that ran out unnoticed rejects all requests that wait here.
    if (this.line && this.grant.lease.state !== 'lost') this.line.pass();
  }

  private add(child: Hold): void {
    child.takes = this.sharedWith(child);
    (this.taken ??= new Held()).add(child.takes);
    (this.children ??= new Set()).add(child);
  }

  private hasRoomFor(share: Share | undefined): boolean {
    return !this.taken || this.taken.admits(share);
  }

  /** What a request takes of this hold. */
  private sharedWith({ share }: { readonly share?: Share | undefined }): Share | undefined {
    return shareInside(this.key, this.share, share);
  }

  private newLine(): WaitingLine<Hold | undefined> {
    const line = new WaitingLine<Hold | undefined>(this.keeper.timers, {
      admits: (request) => this.hasRoomFor(this.sharedWith(request)),
      serve: (request) => this.nest(request),
      blocker: () => {
        const [oldest = this] = this.children ?? [];
        return {
          holder: (oldest !== this && oldest.label) || 'another branch of the same call',
          heldFor: oldest.heldFor,
        };
      },
    });
    (this.outermost.lines ??= new Set()).add(line);
    return line;
  }
}

/** Ends all of `holds`, the last first. */
export async function endInReverse(holds: readonly Hold[]): Promise<void> {
  await Promise.all(holds.toReversed().map((hold) => hold.end()));
}

import type { CheckedOptions } from './acquire-options.js';
import { detached } from './detached.js';
import type { HoldDescription } from './diagnostics.js';
import type { Grant } from './lock-store.js';
import type { Lease } from './lease.js';
import type { Linked } from './linked-list.js';
import { NestedLine, type NestingWait } from './nested-line.js';
import type { Watchdog, Watched } from './watchdog.js';

const DONE = Promise.resolve();

/** Who keeps a grant while it is in use. */
interface Keeper {
  /** The last of its holds is done, and it is given back. */
  done(held: ActiveGrant): void;
}

/** A store's grant while it is in use. It is given back when the last of its holds is done. */
export class ActiveGrant implements Linked<ActiveGrant> {
  previous: ActiveGrant | undefined;
  next: ActiveGrant | undefined;

  /** What is published about it, while there are subscribers. */
  description: HoldDescription | undefined;
  /** Whether it was warned of because it takes long. */
  warned = false;
  /** Holds that have not ended, nested ones included. */
  openHolds = 0;
  /** The outermost hold: nearly always the only one, so no list is made for it. */
  private outermost: Hold | undefined;
  /** With an explicit owner there may be several, which do not exclude each other. */
  private others: Set<Hold> | undefined;
  /** When it was granted, on the monotonic clock. */
  readonly since = performance.now();

  constructor(
    readonly grant: Grant,
    /** The store's name for the key. */
    readonly encoded: string,
    /** Whose it is: the same key of another engine is another lock. */
    readonly keeper: Keeper,
    /** The call that it was granted to. */
    readonly call: { readonly options: CheckedOptions },
    readonly watchdog: Watchdog,
    /** What ends it when it is held for too long. */
    readonly limit: Watched | undefined,
  ) {}

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

  enter(label: string): Hold {
    const hold = new Hold(this, undefined, label);
    if (this.outermost) (this.others ??= new Set()).add(hold);
    else this.outermost = hold;
    return hold;
  }

  /** An outermost hold is done. */
  leave(hold: Hold): Promise<void> {
    if (this.outermost === hold) this.outermost = undefined;
    else this.others?.delete(hold);
    if (this.outermost || this.others?.size) return DONE;
    // The release comes first: the next in line waits for it.
    const released = detached(() => this.grant.release());
    this.keeper.done(this);
    return released;
  }

  /** Refuses the requests that wait to nest in it. */
  refuseWaiting(error: Error): void {
    this.outermost?.refuseWaiting(error);
    for (const hold of this.others ?? []) hold.refuseWaiting(error);
  }
}

/**
 * One section's, or one handle's, part in a held grant.
 *
 * Holds nest: a request from inside a hold, for its key, is a child of it. An async flow forks, so a hold has at most
 * one active child; further ones stand in its line. A hold is *open* until its own section ends, and *done* when the
 * child that has begun, if any, is done too.
 */
export class Hold {
  private isOpen = true;
  private child: Hold | undefined;
  private line: NestedLine<Hold> | undefined;
  /** Of the first hold of a grant, whose section it describes. */
  description: HoldDescription | undefined;
  private readonly since = performance.now();

  constructor(
    readonly held: ActiveGrant,
    private readonly parent: Hold | undefined,
    readonly label: string,
  ) {
    held.openHolds += 1;
  }

  /** Whether a nested request is served at once. */
  get free(): boolean {
    return !this.child;
  }

  /** Makes the active child. Only while `free`. */
  nest(label: string): Hold {
    this.child = new Hold(this.held, this, label);
    return this.child;
  }

  /** Waits for the turn to nest; undefined if this hold ended before it came. */
  waitToNest(wait: NestingWait): Promise<Hold | undefined> {
    this.line ??= new NestedLine(this.held.watchdog, () => ({
      holder: this.child?.label || 'another branch of the same flow',
      heldFor: performance.now() - (this.child?.since ?? this.since),
    }));
    return this.line.join(wait);
  }

  /** The section has ended, or the handle was released. Once; resolves when what that gives back is given back. */
  end(): Promise<void> {
    this.isOpen = false;
    this.held.openHolds -= 1;
    this.line?.dissolve();
    return this.child ? DONE : this.done();
  }

  refuseWaiting(error: Error): void {
    this.line?.fail(error);
    this.child?.refuseWaiting(error);
  }

  private done(): Promise<void> {
    return this.parent ? this.parent.childDone() : this.held.leave(this);
  }

  private childDone(): Promise<void> {
    this.child = undefined;
    if (!this.isOpen) return this.done();
    // Reading the state of a lease that ran out unnoticed refuses all requests that wait here.
    if (this.line && this.held.lease.state !== 'lost')
      this.line.serve((wait) => this.nest(wait.call.options.label));
    return DONE;
  }
}

/** Ends all of `holds`, the last first; resolves when what that gives back is given back. */
export async function endInReverse(holds: readonly Hold[]): Promise<void> {
  await Promise.all(holds.toReversed().map((hold) => hold.end()));
}

import type { ActiveGrant } from './active-grants.js';
import type { HoldDescription } from './diagnostics.js';
import { NestedLine, type NestingWait } from './nested-line.js';

/**
 * One section's, or one handle's, part in a held grant.
 *
 * Holds nest: a request from inside a hold, for its key, is a child of it. An async flow forks, so a hold has at most
 * one active child; further ones stand in its line. A hold is *open* until its own section ends, and *done* when the
 * child that has begun, if any, is done too. So the last hold of a grant that ends is the one that gives it back.
 */
export class Hold {
  private isOpen = true;
  private child: Hold | undefined;
  private line: NestedLine<Hold> | undefined;
  private readonly since = performance.now();

  constructor(
    readonly held: ActiveGrant,
    readonly label: string,
    private readonly parent?: Hold,
    /** Of the first hold of a grant, whose section it describes. */
    readonly description?: HoldDescription,
  ) {
    held.openHolds += 1;
  }

  /** Whether a nested request is served at once. */
  get free(): boolean {
    return !this.child;
  }

  /** Makes the active child. Only while `free`. */
  nest(label: string): Hold {
    this.child = new Hold(this.held, label, this);
    return this.child;
  }

  /** Waits for the turn to nest; undefined if this hold ended before it came. */
  waitToNest(wait: NestingWait): Promise<Hold | undefined> {
    this.line ??= this.newLine();
    return this.line.join(wait);
  }

  /** The section has ended, or the handle was released. Once; resolves when what that gives back is given back. */
  end(): Promise<void> {
    this.isOpen = false;
    if (this.line) {
      this.line.dissolve();
      this.held.lines?.delete(this.line);
    }
    if (!this.child) this.parent?.childDone();
    return this.held.holdEnded();
  }

  private childDone(): void {
    this.child = undefined;
    if (!this.isOpen) return this.parent?.childDone();
    // Reading the state of a lease that ran out unnoticed refuses all requests that wait here.
    if (this.line && this.held.lease.state !== 'lost')
      this.line.serve((wait) => this.nest(wait.call.options.label));
  }

  private newLine(): NestedLine<Hold> {
    const line = new NestedLine<Hold>(this.held.keeper.watchdog, () => ({
      holder: this.child?.label || 'another branch of the same flow',
      heldFor: performance.now() - (this.child?.since ?? this.since),
    }));
    (this.held.lines ??= new Set()).add(line);
    return line;
  }
}

/** Ends all of `holds`, the last first; resolves when what that gives back is given back. */
export async function endInReverse(holds: readonly Hold[]): Promise<void> {
  await Promise.all(holds.toReversed().map((hold) => hold.end()));
}

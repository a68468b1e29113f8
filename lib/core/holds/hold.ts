import type { HoldDescription } from '../diagnostics/diagnostics.js';
import type { Wait } from '../port/wait.js';
import type { SharedGrant } from './shared-grants.js';
import { WaitingLine } from './waiting-line.js';

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
    readonly grant: SharedGrant,
    readonly label: string,
    private parent?: Hold,
  ) {
    if (grant.openHolds === 0) this.description = grant.description;
    grant.openHolds += 1;
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
    this.child = new Hold(this.grant, label, this);
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
      this.grant.lines?.delete(this.line);
    }
    // Else sections that began each other and ended would stay, in a chain without a limit.
    if (this.child) this.child.parent = this.parent;
    this.parent?.childEnded(this.child);
    return this.grant.holdEnded();
  }

  /** @param next the active child that it leaves */
  private childEnded(next: Hold | undefined): void {
    this.child = next;
    // Reading the state of a lease that ran out unnoticed refuses all requests that wait here.
    if (!next && this.line && this.grant.lease.state !== 'lost')
      this.line.serve(({ request }) => this.nest(request.label));
  }

  private newLine(): WaitingLine<Hold | undefined> {
    const line = new WaitingLine<Hold | undefined>(this.grant.keeper.timers, () => ({
      holder: this.child?.label || 'another branch of the same flow',
      heldFor: performance.now() - (this.child?.since ?? this.since),
    }));
    (this.grant.lines ??= new Set()).add(line);
    return line;
  }
}

/** Ends all of `holds`, the last first; resolves when the releases that this causes are done. */
export async function endInReverse(holds: readonly Hold[]): Promise<void> {
  await Promise.all(holds.toReversed().map((hold) => hold.end()));
}

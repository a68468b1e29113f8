import type { HoldDescription } from '../diagnostics/diagnostics.js';
import { admits, weightOf, type Held } from '../port/admission.js';
import type { LockRequest, Share } from '../port/lock-store.js';
import type { Wait } from '../port/wait.js';
import { shareInside } from './nesting.js';
import type { SharedGrant } from './shared-grants.js';
import { WaitingLine } from './waiting-line.js';

/** What a hold is asked for. */
type Asked = Pick<LockRequest, 'label' | 'share'>;

const NOTHING: Held = { used: 0, mode: undefined, limit: undefined };

/**
 * The use of a grant by one section or one handle. It differs from the grant that it shares: it ends alone, while others go on. It differs from
 * the handle: a handle for several keys has a hold for each.
 *
 * Holds nest: a request for the same key from inside a hold becomes its child. An async flow may fork, and `admits` says which children may
 * be active together; other requests wait in the line of the hold. A hold whose section ends leaves its active children to its parent. The
 * last hold that ends releases the grant.
 */
export class Hold {
  private readonly label: string;
  /** As what it was asked for. */
  readonly share: Share | undefined;
  /** What it takes of its parent. */
  private takes: Share | undefined;
  private children: Set<Hold> | undefined;
  /** What the children take. */
  private taken = NOTHING;
  /** Requests that wait to nest in it. */
  private line: WaitingLine<Hold | undefined> | undefined;
  private readonly since = performance.now();
  /** The description of the grant; only the first hold has it. */
  readonly description: HoldDescription | undefined;

  constructor(
    readonly grant: SharedGrant,
    { label, share }: Asked,
    private parent?: Hold,
  ) {
    this.label = label;
    this.share = share;
    if (grant.openHolds === 0) this.description = grant.description;
    grant.openHolds += 1;
  }

  /** Whether nothing is nested in it. */
  get free(): boolean {
    return this.taken.used === 0;
  }

  /** Whether it is nested in `other`, however deep. */
  isInside(other: Hold): boolean {
    let { parent } = this;
    while (parent && parent !== other) ({ parent } = parent);
    return parent === other;
  }

  /**
   * Nests a request immediately; undefined if it has to wait for others that are nested.
   *
   * @throws LockDeadlockError if it would wait for this very hold
   */
  tryToNest(asked: Asked): Hold | undefined {
    const takes = this.sharedWith(asked);
    const behind = (this.line?.waiters.size ?? 0) > 0;
    return !behind && admits(this.taken, takes) ? this.nest(asked) : undefined;
  }

  /** Waits for the turn to nest; undefined if this hold ended before it came. */
  waitToNest(wait: Wait<Hold | undefined>, deadline: number): Promise<Hold | undefined> {
    this.line ??= this.newLine();
    return this.line.join(wait, deadline);
  }

  /** Ends the hold: its section has ended, or its handle was released. Call it once; resolves when a release that this causes is done. */
  end(): Promise<void> {
    if (this.line) {
      // Each of them must request the lock again.
      this.line.dismiss(undefined);
      this.grant.lines?.delete(this.line);
    }
    // Else sections that began each other and ended would stay, in a chain without a limit.
    for (const child of this.children ?? []) child.parent = this.parent;
    this.parent?.childEnded(this);
    return this.grant.holdEnded();
  }

  private nest(asked: Asked): Hold {
    const child = new Hold(this.grant, asked, this);
    this.add(child);
    return child;
  }

  private childEnded(child: Hold): void {
    this.children?.delete(child);
    const used = this.taken.used - weightOf(child.takes);
    this.taken = used === 0 ? NOTHING : { ...this.taken, used };
    for (const left of child.children ?? []) this.add(left);
    // Reading the state of a lease that ran out unnoticed refuses all requests that wait here.
    if (this.line && this.grant.lease.state !== 'lost') this.line.pass();
  }

  private add(child: Hold): void {
    child.takes = this.sharedWith(child);
    this.taken = {
      ...this.taken,
      used: this.taken.used + weightOf(child.takes),
      mode: child.takes?.mode,
    };
    (this.children ??= new Set()).add(child);
  }

  /** What a request takes of this hold. */
  private sharedWith({ share }: { readonly share?: Share | undefined }): Share | undefined {
    return shareInside(this.grant.key, this.share, share);
  }

  private newLine(): WaitingLine<Hold | undefined> {
    const line = new WaitingLine<Hold | undefined>(this.grant.keeper.timers, {
      admits: (request) => admits(this.taken, this.sharedWith(request)),
      serve: ({ request }) => this.nest(request),
      blocker: () => {
        const [oldest = this] = this.children ?? [];
        return {
          holder: (oldest !== this && oldest.label) || 'another branch of the same flow',
          heldFor: performance.now() - oldest.since,
        };
      },
    });
    (this.grant.lines ??= new Set()).add(line);
    return line;
  }
}

/** Ends all of `holds`, the last first. */
export async function endInReverse(holds: readonly Hold[]): Promise<void> {
  await Promise.all(holds.toReversed().map((hold) => hold.end()));
}

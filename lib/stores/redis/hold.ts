import { safetyMargin, type Instant, type Lease } from '../../core/port/lease.js';
import type { Grant } from '../../core/port/lock-store.js';
import type { Request } from './request.js';

/** A lease as a command told it: `left` ms from its sending. */
export interface Told {
  readonly since: Instant;
  readonly left: number;
  /** It came by a message: it is the first lease, and its end is not known exactly. */
  readonly isMessage?: boolean;
}

/** Ends a turn: see `Grant.release`. */
export type Release = (turn: Turn, keep: number | undefined) => Promise<void>;

/** What Redis holds for this client under the id of one request, its head. The head's neighbours may have their turns under it (rule 9). */
export class Hold {
  /** Who has its turn. */
  turn: Turn | undefined;
  /** Neighbours that had their turns, and that Redis may still have in the queue. */
  served: Request[] = [];
  /** When to renew it (monotonic); Infinity: never, for its end is known and fixed. */
  renewAt = Infinity;
  /** When to tell Redis who has its turn now (monotonic). */
  tellAt = Infinity;
  /** Whether a heartbeat has confirmed it, and with the option `replicas`, so have these. */
  isConfirmed = false;
  /** Whether heartbeats only ask for its lease and do not renew it; then nobody else has a turn. */
  isStopped = false;
  /** Since when (monotonic) it is held. */
  private readonly grantedAt = performance.now();
  private next = 0;

  /** @param neighbours those that may have their turns after the head, in order; undefined: one that has ended */
  constructor(
    readonly head: Request,
    readonly token: number,
    /** Its lease, as a command confirmed it last. */
    public told: Told,
    private readonly neighbours: readonly (Request | undefined)[],
  ) {}

  /** Under which Redis has it. */
  get id(): string {
    return this.head.id;
  }

  /** The ms of `left` for which the client may rely on it. */
  validity(usual: number, left = this.told.left): number {
    return left - safetyMargin(this.head.leaseTime ?? usual, left);
  }

  /** The next neighbour that still waits, with its token; undefined if there is none. */
  nextNeighbour(): { readonly request: Request; readonly token: number } | undefined {
    while (this.next < this.neighbours.length) {
      const request = this.neighbours[this.next];
      this.next += 1;
      if (request?.mayHaveTurn) return { request, token: this.token + this.next };
    }
    return undefined;
  }

  /** What heartbeats say of it: its id, and who has its turn if Redis does not know that. */
  words(): { readonly id: string; readonly lease: number | ''; readonly present: string } {
    const { turn } = this;
    const present = turn && this.tellAt < Infinity ? `${turn.number} ${turn.request.name}` : '';
    return { id: this.id, lease: this.isStopped ? 0 : '', present };
  }

  /** For how long the one that has its turn waited for it since the grant, ms. */
  get waitedForTurn(): number {
    return this.turn ? this.turn.since - this.grantedAt : 0;
  }
}

/** The use of a hold by one request: the grant that its caller gets. */
export class Turn implements Grant {
  /** How long it had waited, ms. */
  readonly waited: number;
  /** Since when it has its turn (monotonic). */
  readonly since = performance.now();
  private released: Promise<void> | undefined;

  /** @param number its token; a shared hold has one as well, which nobody sees */
  constructor(
    readonly request: Request,
    readonly hold: Hold,
    readonly number: number,
    readonly lease: Lease,
    private readonly end: Release,
  ) {
    this.waited = request.wait.waited;
  }

  get key(): string {
    return this.request.key;
  }

  get token(): number | undefined {
    return this.request.wait.share ? undefined : this.number;
  }

  release(keep?: number): Promise<void> {
    return (this.released ??= this.end(this, keep));
  }
}

import { safetyMargin, type Instant, type Lease } from '../../core/port/lease.js';
import type { Grant } from '../../core/port/lock-store.js';
import type { Wait, WaitLine } from '../../core/port/wait.js';
import type { Ask } from './commands.js';

/**
 * What a request is doing, as the table in docs/internals/protocol.md says. Only `Lock` moves it, and `move` asserts where it comes from.
 *
 * - `asking`: its acquire must be sent at `at` (monotonic); Infinity: it is under way
 * - `waiting`: Redis has told its place in the queue
 * - `confirming`: granted, and the replicas have not confirmed it yet
 * - `held`: it has its turn: its section runs, and its lease is valid
 * - `lost`: its section may still run, but its lease is not valid any more
 * - `over`: rejected, left, or released
 */
export type State =
  | { readonly is: 'asking'; readonly at: number }
  | { readonly is: 'waiting' }
  | { readonly is: 'confirming'; readonly hold: RedisHold }
  | { readonly is: 'held' | 'lost'; readonly turn: Turn }
  | { readonly is: 'over' };

type Name = State['is'];

/** From where a request may come. */
const ORIGINS: Readonly<Record<Name, readonly Name[]>> = {
  asking: ['asking', 'waiting', 'confirming'],
  waiting: ['asking'],
  confirming: ['asking', 'waiting'],
  held: ['asking', 'waiting', 'confirming'],
  lost: ['held'],
  over: ['asking', 'waiting', 'confirming', 'held', 'lost'],
};

/** What a request does not decide itself. */
export interface RequestOwner {
  /** Its wait time has elapsed. */
  overdue(request: Request): void;
  /** Its caller gives up. */
  aborted(request: Request): void;
}

/** One request for one lock: the line of its wait, and the words of its acquire. */
export class Request implements Ask, WaitLine<Grant> {
  state: State = { is: 'asking', at: 0 };
  /** Its place in the queue, for life (rule 2); '' until Redis has told it. */
  ticket = '';
  /** When its first acquire was sent. */
  askedAt: Instant | undefined;
  /** The token that the lock had given when Redis told last that the request does not hold it, and when that command was sent (rule 5). */
  told = 0;
  toldAt: Instant | undefined;
  /** How many of its grants had expired before it could have its turn, and the token of the last of them. */
  missed = 0;
  lastMissed = 0;
  /** Whether a command failed while it asked or waited: a primary that was replaced since may wake up and grant it (rule 5). */
  isDoubtful = false;
  /** Whether its caller was told its place. */
  isPlaced = false;

  constructor(
    readonly wait: Wait,
    private readonly owner: RequestOwner,
    readonly sequence: number,
    /** `client:sequence` */
    readonly id: string,
    /** `terms:label` */
    readonly about: string,
  ) {}

  /** @throws Error if the table does not have this transition */
  move(to: State): void {
    if (!ORIGINS[to.is].includes(this.state.is)) {
      throw new Error(`A request cannot go from ${this.state.is} to ${to.is}.`);
    }
    this.state = to;
  }

  get isAsking(): boolean {
    return this.state.is === 'asking';
  }

  /** Whether it may have its turn under a hold of this client. */
  get mayHaveTurn(): boolean {
    return this.state.is === 'asking' || this.state.is === 'waiting';
  }

  /** Whether Redis has told that the grant with this token has ended, after `since`, the earliest that it can have been made (rule 5). */
  isTold(token: number, since: Instant): boolean {
    return token <= this.told && since.monotonic <= (this.toldAt?.monotonic ?? 0);
  }

  get key(): string {
    return this.wait.key;
  }

  get name(): string {
    return `${this.id}:${this.about}`;
  }

  get most(): number | 'try' {
    const { waitTime, maxQueue } = this.wait;
    return waitTime === 0 ? 'try' : maxQueue;
  }

  get leaseTime(): number | undefined {
    return this.wait.leaseTime;
  }

  /** Whether it may have its turn under a hold of its neighbour in the queue, and its neighbours under its own (rule 9). */
  get isPlain(): boolean {
    return this.about.startsWith(':') || this.about.startsWith('u:');
  }

  overdue(): void {
    this.owner.overdue(this);
  }

  aborted(): void {
    this.owner.aborted(this);
  }
}

/** A lease as a command told it: `left` ms from its sending. */
export interface Told {
  readonly since: Instant;
  readonly left: number;
  /** It came by a message: it is the first lease, and its end is not known exactly. */
  readonly isMessage?: boolean;
}

/** What a turn does not decide itself: see `Grant`. */
export interface TurnOwner {
  release(turn: Turn, keep: number | undefined): Promise<void>;
  fix(turn: Turn, leaseTime: number): Promise<void>;
}

/** What Redis holds for this client under the id of one request, its head. The head's neighbours may have their turns under it (rule 9). */
export class RedisHold {
  /** Who has its turn. */
  turn: Turn | undefined;
  /** Neighbours that had their turns, and that Redis may still have in the queue. */
  served: Request[] = [];
  /** Whether Redis has been told who has its turn: then no further neighbour has one. */
  private isRowClosed = false;
  /** When to renew it (monotonic); Infinity: never, for its end is known and fixed. */
  renewAt = Infinity;
  /** Whether a heartbeat has confirmed it, and with the option `replicas`, so have these. */
  isConfirmed = false;
  /** Whether heartbeats only ask for its lease and do not renew it; then nobody else has a turn. */
  isStopped = false;
  /** If it is fixed, ms. */
  leaseTime: number | undefined;
  private next = 0;

  /** @param neighbours those that may have their turns after the head, in order; undefined: one that has ended */
  constructor(
    readonly head: Request,
    readonly token: number,
    /** Its lease, as a command confirmed it last. */
    public told: Told,
    private readonly neighbours: readonly (Request | undefined)[],
    /** Since when (monotonic) it is held. */
    private readonly grantedAt: number,
  ) {
    this.leaseTime = head.leaseTime;
  }

  /** Under which Redis has it. */
  get id(): string {
    return this.head.id;
  }

  /** The ms of `left` for which the client may rely on it. */
  validity(usual: number, left = this.told.left): number {
    return left - safetyMargin(this.leaseTime ?? usual, left);
  }

  get hasNeighbours(): boolean {
    return this.neighbours.length > 0;
  }

  /** Ends the row of turns with the one under way. Those that have had theirs. */
  closeRow(): Request[] {
    const { served } = this;
    this.isRowClosed = true;
    this.served = [];
    return served;
  }

  /** The next neighbour that still waits, with its token; undefined if there is none. */
  nextNeighbour(since: number): { readonly request: Request; readonly token: number } | undefined {
    if (this.grantedAt < since) return undefined;
    while (!this.isRowClosed && this.next < this.neighbours.length) {
      const request = this.neighbours[this.next];
      this.next += 1;
      if (request?.mayHaveTurn) return { request, token: this.token + this.next };
    }
    return undefined;
  }

  /** What heartbeats say of it: its id, and who has its turn if that is not the head. */
  words(): { readonly id: string; readonly lease: number | ''; readonly present: string } {
    const { turn } = this;
    const present = turn && turn.request !== this.head ? `${turn.number} ${turn.request.name}` : '';
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
  private released: Promise<void> | undefined;

  /**
   * @param number its token, also of a shared hold, where `token` hides it
   * @param since when it has its turn (monotonic)
   */
  constructor(
    readonly request: Request,
    readonly hold: RedisHold,
    readonly number: number,
    readonly lease: Lease,
    private readonly owner: TurnOwner,
    readonly since: number,
  ) {
    this.waited = since - request.wait.since;
  }

  get key(): string {
    return this.request.key;
  }

  get token(): number | undefined {
    return this.request.wait.share ? undefined : this.number;
  }

  release(keep?: number): Promise<void> {
    return (this.released ??= this.owner.release(this, keep));
  }

  fix(leaseTime: number): Promise<void> {
    return this.owner.fix(this, leaseTime);
  }
}

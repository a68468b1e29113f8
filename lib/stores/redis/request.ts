import { elapsedSince, type Instant, type Lease, safetyMargin } from '../../core/port/lease.js';
import type { Grant } from '../../core/port/lock-store.js';
import type { Wait, WaitLine } from '../../core/port/wait.js';
import type { Ask, Renewal } from './commands.js';
import { Row } from './row.js';

/**
 * What a request is doing, as the table in docs/internals/protocol.md says. Only `Lock` moves it, and `move` asserts where it comes from.
 *
 * - `ready`: its acquire is sent when this turn of the event loop ends
 * - `pausing`: its acquire is sent at `until` (monotonic)
 * - `asked`: its acquire is under way
 * - `waiting`: Redis has told its place in the queue
 * - `confirming`: granted, and the replicas have not confirmed it yet
 * - `held`: it has its turn: its section runs, and its lease is valid
 * - `lost`: its section may still run, but its lease is not valid any more
 * - `over`: rejected, left, or released
 */
export type State =
  | { readonly is: 'ready' | 'asked' | 'waiting' | 'over' }
  | { readonly is: 'pausing'; readonly until: number }
  | { readonly is: 'confirming'; readonly hold: RedisHold }
  | { readonly is: 'held' | 'lost'; readonly turn: Turn };

type Name = State['is'];

/** The states before a grant. */
const BEFORE: readonly Name[] = ['ready', 'pausing', 'asked', 'waiting'];

/** From where a request may come. */
const ORIGINS: Readonly<Record<Name, readonly Name[]>> = {
  ready: ['asked', 'waiting', 'pausing'],
  pausing: [...BEFORE, 'confirming'],
  asked: ['ready', 'pausing'],
  waiting: ['asked'],
  confirming: BEFORE,
  held: [...BEFORE, 'confirming'],
  lost: ['held'],
  over: [...BEFORE, 'confirming', 'held', 'lost'],
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
  /** Written by `move` alone. */
  state: State = { is: 'ready' };
  /** Its place in the queue, for life (rule 2); '' until the answer to its acquire has told it. */
  ticket = '';
  /** When its first acquire was sent. Written when that is sent. */
  askedAt: Instant | undefined;
  /**
   * When the last command was sent whose answer said that the request does not hold the lock, and the token that the lock had given last by then
   * (rule 5). Written by each such answer, and by a message that its hold has expired or was ended by force.
   */
  seenAt: Instant | undefined;
  seenToken = 0;
  /** How many of its grants had expired before it could have its turn, and the token of the last of them. Written when such a grant comes. */
  missed = 0;
  lastMissed = 0;
  /** Whether a command failed while it waited: a primary that was replaced since may wake up and grant it (rule 5). Written when one fails. */
  isDoubtful = false;
  /** Whether its caller was told its place. Written when it is. */
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

  /** Whether its acquire is under way. */
  get isAsking(): boolean {
    return this.state.is === 'asked';
  }

  /** Whether it may have its turn under a hold of this client. */
  get mayHaveTurn(): boolean {
    return BEFORE.includes(this.state.is);
  }

  /** Whether Redis has told that the grant with this token has ended, after `since`, the earliest that it can have been made (rule 5). */
  isStale(token: number, since: Instant): boolean {
    return token <= this.seenToken && since.monotonic <= (this.seenAt?.monotonic ?? 0);
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

/** A lease as a command proved it (rule 4): `left` ms from its sending. */
export interface Proof {
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
  /** Who has its turn. Written when a turn begins. */
  turn: Turn | undefined;
  /**
   * When to renew it (monotonic): a third of the lease after the sending of the command that proved it, but soon after a grant by message, whose
   * first lease is short (rule 4); undefined: never, for its end is known and fixed. Written by its grant,
   * each renewal, `Grant.fix`, and `Lock.ended` to ask about it.
   */
  renewAt: number | undefined;
  /** Whether a heartbeat has confirmed it, and with the option `replicas`, so have these. Written by that heartbeat. */
  isConfirmed = false;
  /** If set, heartbeats ask how long the lease lasts but don't renew it, and no neighbour gets a turn. `Lock.begin` sets it once `maxHold` has passed. */
  isStopped = false;
  /** If it is fixed, ms. Written by `Grant.fix`. */
  leaseTime: number | undefined;
  readonly row: Row<Request>;

  /** @param neighbours those that may have their turns after the head, in order; undefined: one that has ended */
  constructor(
    readonly head: Request,
    readonly token: number,
    /** Its lease, as a command confirmed it last. Written by each renewal and `Grant.fix`. */
    public proof: Proof,
    neighbours: readonly (Request | undefined)[],
    /** When (monotonic) the client learned of its grant. */
    readonly learnedAt: number,
  ) {
    this.leaseTime = head.leaseTime;
    this.row = new Row(token, neighbours, learnedAt);
  }

  /** Under which Redis has it. */
  get id(): string {
    return this.head.id;
  }

  /** After `row.ended()`: the neighbour that has its turn now, with its token; undefined: none, and the hold ends. */
  next(at: Instant, lease: number): { readonly request: Request; readonly token: number } | undefined {
    if (this.isStopped || this.remaining(lease, at) <= 0) return undefined;
    return this.row.next(at.monotonic);
  }

  /** The ms for which the client may rely on it from `at` on. */
  remaining(lease: number, at: Instant): number {
    return this.validity(lease) - elapsedSince(this.proof.since, at);
  }

  /** The ms for which the client may rely on its proof. */
  validity(lease: number): number {
    const { left } = this.proof;
    return left - safetyMargin(this.leaseTime ?? lease, left);
  }

  /**
   * When a heartbeat must name it (monotonic); undefined: never.
   *
   * @param newsAt when something may have changed in Redis
   */
  dueAt(newsAt: number): number | undefined {
    const { renewAt, proof, row } = this;
    if (renewAt === undefined) return undefined;
    const due = proof.since.monotonic < newsAt ? Math.min(renewAt, newsAt) : renewAt;
    return row.announceAt === undefined ? due : Math.min(due, row.announceAt);
  }

  /** What heartbeats say of it: its id, and who has its turn if Redis does not know that. */
  words(): { readonly id: string; readonly lease: Renewal; readonly present: string } {
    return { id: this.id, lease: this.isStopped ? 0 : '', present: this.row.words };
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

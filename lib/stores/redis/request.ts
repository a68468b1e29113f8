import type { Instant } from '../../core/port/lease.js';
import type { Grant } from '../../core/port/lock-store.js';
import type { Wait, WaitLine } from '../../core/port/wait.js';
import type { Ask } from './commands.js';
import type { Hold, Turn } from './hold.js';

/**
 * What a request is doing, as the table in docs/protocol.md says. Only `Lock` moves it, and `move` asserts where it comes from.
 *
 * - `asking`: its acquire has to be sent at `at` (monotonic); Infinity: it is under way
 * - `waiting`: Redis has told its place in the queue
 * - `confirming`: granted, and the replicas are still to confirm it
 * - `held`: it has its turn: its section runs, and its lease is valid
 * - `lost`: its section may still run, but its lease is not valid any more
 * - `over`: rejected, left, or released
 */
export type State =
  | { readonly is: 'asking'; readonly at: number }
  | { readonly is: 'waiting' }
  | { readonly is: 'confirming'; readonly hold: Hold }
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
  toldAt = 0;
  /** How many of its grants had expired before it could have its turn, and the token of the last of them. */
  missed = 0;
  lastMissed = 0;
  /** Whether a copy of its acquire may still be under way (rule 8). */
  isCopied = false;
  /** Whether it has ended with a `done` that leaves a mark. */
  isMarked = false;
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
    return token <= this.told && since.monotonic <= this.toldAt;
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

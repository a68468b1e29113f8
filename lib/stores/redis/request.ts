import type { Instant, Lease } from '../../core/port/lease.js';
import type { Grant } from '../../core/port/lock-store.js';
import type { Wait, WaitLine } from '../../core/port/wait.js';
import type { Ask, How } from './commands.js';

/**
 * - `asking`: its acquire has to be sent, or is not answered yet
 * - `waiting`: Redis has told its place in line
 * - `next`: granted in a batch of this client; it has its turn when those before it have ended (rule 9)
 * - `confirming`: granted, and the replicas are still to confirm it
 * - `held`: its section runs, and its lease is valid
 * - `lost`: its section may still run, but its lease is not valid any more
 * - `over`: refused, left, or released
 *
 * The table in docs/protocol.md says what each event does in each state. Only `Lock.move` changes it.
 */
export type State = 'asking' | 'waiting' | 'next' | 'confirming' | 'held' | 'lost' | 'over';

/** What a request does not decide itself. */
export interface RequestOwner {
  release(request: Request, keep: number | undefined): Promise<void>;
  /** Its wait time has elapsed. */
  overdue(request: Request): void;
  /** Its caller gives up. */
  aborted(request: Request): void;
}

/** One request for one lock, from the call to its release: the line of its wait, the words of its acquire, and the grant of its holder. */
export class Request implements Ask, Grant, WaitLine<Grant> {
  state: State = 'asking';
  ticket = '';
  /** When its first acquire was sent, and the token that the lock had given when Redis told last that it does not hold it (rule 5). */
  askedAt: Instant | undefined;
  told = 0;
  /** When Redis told its place last, by the sending of that command (monotonic). */
  toldAt = 0;
  /** Its own token; a shared grant has one as well, which nobody sees. */
  number = 0;
  /** Set once it is held. */
  lease!: Lease;
  /** How long it had waited when it was granted, ms. */
  waited = 0;
  /** The id under which Redis has its hold: in a batch that of the first. */
  hold: string;
  /** What Redis does not know yet of its hold: that it has its turn in a batch. */
  present = '';
  /** How many of its grants had expired before they could be entered, and the token of the last of them. */
  missed = 0;
  lastMissed = 0;
  /** Whether a heartbeat names its hold: always if it is renewed, once if the end of its fixed lease is not known well. */
  isReported = true;
  /** Whether heartbeats only ask for its lease and do not renew it. */
  isStopped = false;
  /** Whether its acquire was sent more than once, or not answered, so that a copy may still be under way (rule 8). */
  isCopied = false;
  /** Whether it gave up with a `done` that leaves a mark. */
  isMarked = false;
  /** Whether its caller was told its place in line. */
  isPlaced = false;
  private released: Promise<void> | undefined;

  constructor(
    readonly wait: Wait,
    private readonly owner: RequestOwner,
    readonly sequence: number,
    readonly id: string,
    readonly about: string,
  ) {
    this.hold = id;
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

  /** host/pid and label, for people. */
  get who(): string {
    return this.about.slice(this.about.indexOf(':') + 1);
  }

  get most(): number | 'try' {
    const { waitTime, maxQueue } = this.wait;
    return waitTime === 0 ? 'try' : maxQueue;
  }

  get fixed(): number | undefined {
    return this.wait.leaseTime;
  }

  /** How it ends if a copy of its acquire may still be under way, which should do nothing then (rule 8). */
  get mark(): How | undefined {
    return this.isCopied ? { how: 'mark', about: this.about } : undefined;
  }

  /** How it gives up before it has the lock. */
  get leaving(): How {
    return { how: 'leave', about: this.about, ...(this.isCopied && { more: 'mark' }) };
  }

  /** Whether it may be granted together with its neighbours in line, one after the other. */
  get isPlain(): boolean {
    return this.about.startsWith(':') || this.about.startsWith('u:');
  }

  get token(): number | undefined {
    return this.wait.share ? undefined : this.number;
  }

  release(keep?: number): Promise<void> {
    return (this.released ??= this.owner.release(this, keep));
  }

  overdue(): void {
    this.owner.overdue(this);
  }

  aborted(): void {
    this.owner.aborted(this);
  }
}

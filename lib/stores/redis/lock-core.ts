import type { LockTimeoutError } from '../../core/errors/errors.js';
import type { Timers } from '../../core/runtime/timers.js';
import type { Commands, How, LockKeys, Times } from './commands.js';
import type { Why } from './refusals.js';
import type { Reply } from './reply.js';
import type { Request, State } from './request.js';

/** What all locks of a client share. */
export interface ClientCore {
  readonly id: string;
  readonly commands: Commands;
  readonly times: Times;
  readonly timers: Timers;
  /** Whether a grant counts only when replicas have it. */
  readonly isReplicated: boolean;
  /** The message of a grant had not come when a heartbeat asked. */
  missedMessage(): void;
}

/** A lock, as its parts use it. */
export interface LockCore {
  readonly client: ClientCore;
  readonly keys: LockKeys;
  /** All requests that are not over, by sequence; those of which Redis told last stand behind. */
  readonly requests: ReadonlyMap<number, Request>;
  /** How many wait, and how many are held or to be confirmed. */
  readonly waiting: number;
  readonly holding: number;
  /** The one place where a request changes its state. */
  move(request: Request, to: State): void;
  held(): Request[];
  /** Lets the client call `sendAsks` when this turn of the event loop has ended. */
  askSoon(): void;
  /** Sends the requests that ask now. */
  sendAsks(): void;
  /** A command is under way until `ended` is called. */
  sent(): void;
  ended(): void;
  /** Takes note of an answer, and of what its script granted. `marked`: it has told of all that wait, and marked this client alive. */
  note(reply: Reply, marked: boolean): void;
  /** Redis told that the request does not hold the lock. */
  told(request: Request, reply: Reply): void;
  /** Tells the caller, once, how many will be served before it. */
  reportPlace(request: Request, ahead: number): void;
  /** The place of a request is lost: it asks for it again, with its ticket, after `pause` ms. */
  askAgain(request: Request, pause?: number): void;
  /** Those in line that may have been granted together with one that left ask for their places again, in front of what is sent next. */
  askNeighbours(): void;
  /** Ends a request without the lock. */
  end(request: Request, why: Why | Error, blocker?: LockTimeoutError['blockedBy']): void;
  /**
   * The request has ended: Redis passes its lock or place on. Resolves when that is answered, or was not for one command timeout; it is
   * repeated until then, or until the lease has expired.
   *
   * @param fixed the lease of the request, ms, if it has its own
   */
  done(id: string, how?: How, answered?: (reply: Reply) => void, fixed?: number): Promise<void>;
  idOf(sequence: number): string;
  /** Sets the timer for what is due next. Called after each event. */
  plan(): void;
}

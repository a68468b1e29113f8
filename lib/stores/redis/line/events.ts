import type { Instant } from '../../../core/clock.js';
import type { FairLockError } from '../../../core/errors.js';
import type { AcquireArgs, FinishedGrant, HeartbeatArgs, RequestName } from '../commands/arguments.js';
import type {
  AcquireReply,
  Blocker,
  HeartbeatReply,
  JoinReply,
  LeaveReply,
  PresentGrant,
  ReleaseReply,
} from '../commands/reply.js';

/** When an event happens. */
export interface Moment extends Instant {
  /** How many commands this client has sent by then: a reply to one of these is older than what happens after (M6). */
  readonly order: number;
}

/** A call that wants the lock. */
export interface NewRequest {
  readonly sequence: number;
  readonly leaseTime: number | undefined;
  /** It wants the lock now or not at all. */
  readonly tries: boolean;
  readonly maxQueue: number;
  readonly label: string;
}

/** Why a command got no usable reply. */
export interface Failure {
  /** Whether it may have taken effect (R13). */
  readonly effect: 'none' | 'unknown';
  readonly retriable: boolean;
  /** Pause before asking again, ms: all commands of a client back off together. */
  readonly retryAfter: number;
  readonly error: FairLockError;
}

/** How many replicas have a renewal. */
export interface Replicated {
  readonly replicas: number;
  /** At least as many as are demanded. */
  readonly enough: boolean;
  /** Why that cannot be known on this server. */
  readonly refusal: FairLockError | undefined;
}

/** A heartbeat's reply; `replicated` where the renewal counts only when replicas have it. */
export type ReplicatedReply = HeartbeatReply & { readonly replicated?: Replicated };

export type Reply = AcquireReply | JoinReply | ReleaseReply | LeaveReply | ReplicatedReply;

/** What happens to a line. */
export type LineEvent =
  | { readonly type: 'requested'; readonly request: NewRequest }
  /** The turn of the event loop is over in which requests came that can ask together. */
  | { readonly type: 'turn ended' }
  /** The wait time is over, or the caller aborts. */
  | { readonly type: 'cancelled'; readonly sequence: number; readonly why: 'wait time' | 'abort' }
  /** A holder releases. `kept`: it had not lost the lock before. */
  | { readonly type: 'section ended'; readonly token: number; readonly kept: boolean }
  /** A holder looked at its lease and found it over, by the local clocks (R12). */
  | { readonly type: 'lease lost'; readonly token: number }
  /** The lease is not to be renewed any more. */
  | { readonly type: 'renewing stopped'; readonly token: number }
  /** A command was answered, or failed for good. */
  | { readonly type: 'reply'; readonly id: number; readonly reply: Reply }
  | { readonly type: 'failed'; readonly id: number; readonly failure: Failure }
  /** A renewal was answered that replicas need not have yet; `reply` or `failed` follows. */
  | { readonly type: 'written'; readonly id: number; readonly reply: HeartbeatReply }
  /** Messages, which may come late, twice or never (R9). */
  | { readonly type: 'granted'; readonly grant: PresentGrant }
  | { readonly type: 'revoked'; readonly first: number }
  /** The subscription is up since then (monotonic ms), or down. */
  | { readonly type: 'subscription'; readonly upSince: number | undefined }
  /** Something may have been missed. */
  | { readonly type: 'look' }
  /** Which server process keeps the lock from now on, where that is known. */
  | { readonly type: 'server'; readonly id: string | undefined }
  /** The wake-up time is reached. */
  | { readonly type: 'due' }
  /** No request is served here any more. */
  | { readonly type: 'refused'; readonly error: FairLockError }
  | { readonly type: 'closing' };

/** A command with all that its typed call needs. */
export type Command =
  | { readonly kind: 'acquire'; readonly args: AcquireArgs; readonly deadline: number }
  | { readonly kind: 'join'; readonly first: number; readonly count: number; readonly deadline: number }
  | { readonly kind: 'release'; readonly grant: FinishedGrant; readonly markAlive: boolean }
  | { readonly kind: 'leave'; readonly request: RequestName; readonly markAlive: boolean }
  /** `replicate`: a renewal that counts only when replicas have it. */
  | { readonly kind: 'heartbeat'; readonly args: Omit<HeartbeatArgs, 'ping'>; readonly replicate: boolean }
  /** A renewal that is repeated until replicas have it, or time is up. */
  | { readonly kind: 'confirm'; readonly args: Omit<HeartbeatArgs, 'ping'> };

/** Why a request does not get the lock. */
export type Refusal =
  | { readonly why: 'wait time'; readonly blocker: Blocker; readonly ahead: number | undefined }
  | { readonly why: 'abort' }
  | { readonly why: 'busy'; readonly blocker: Blocker }
  | { readonly why: 'full' }
  /** Its fixed lease ended so many times in a row before its grant was received. */
  | { readonly why: 'lease too short'; readonly missed: number }
  /** Too few replicas have its grant, or it is not known how many. */
  | { readonly why: 'not replicated'; readonly replicated: Replicated | undefined }
  | { readonly why: 'error'; readonly error: FairLockError }
  | { readonly why: 'closing' };

/** What is to be done about it. */
export type Effect =
  | { readonly type: 'send'; readonly id: number; readonly command: Command }
  /** Tell me when this turn of the event loop is over. */
  | { readonly type: 'await turn' }
  /** The request holds the lock; `left` counts from `since`, safety margin taken off. */
  | {
      readonly type: 'grant';
      readonly sequence: number;
      readonly token: number;
      readonly since: Instant;
      readonly left: number;
    }
  | { readonly type: 'refuse'; readonly sequence: number; readonly refusal: Refusal }
  /** How many will be served before the request. */
  | { readonly type: 'report place'; readonly sequence: number; readonly ahead: number }
  /** The lease of the grant with that token: */
  | { readonly type: 'renew lease'; readonly token: number; readonly since: Instant; readonly left: number }
  | { readonly type: 'suspect lease'; readonly token: number }
  | { readonly type: 'lose lease'; readonly token: number; readonly why: string }
  | { readonly type: 'end lease'; readonly token: number }
  /** What the end of that section gave back is given back, or need not be waited for any longer. */
  | { readonly type: 'released'; readonly token: number }
  /** When to send the event `due`; Infinity: never. */
  | { readonly type: 'wake up'; readonly at: number }
  /** Neither a request nor a grant nor a command is left. */
  | { readonly type: 'forget' }
  /** After `closing`: everything is given back. */
  | { readonly type: 'closed' };

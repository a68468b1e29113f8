import type { Instant } from '../../../core/port/lease.js';
import type { FairLockError, LockTimeoutError } from '../../../core/errors/errors.js';

/** The types in which the machines of two protocols differ. */
export interface ProtocolTypes {
  /** Names a request, and a grant, among those of one lock. A number names a grant by its fencing token. */
  readonly request: string | number;
  readonly grant: string | number;
  readonly newRequest: object;
  readonly place: CommonRequest;
  /** A command to Redis, and the reply. */
  readonly command: object;
  readonly reply: object;
  /** The events, effects and refusals that only this protocol has. */
  readonly event: object;
  readonly effect: object;
  readonly refusal: object;
}

/** One request, with what a client of any protocol knows of its place. */
export interface CommonRequest {
  state: 'waiting' | 'granted' | 'refused';
  /** How many of its grants ended before this client received them. */
  missed: number;
  /** Whether a command that asks for its place is under way. */
  requesting: boolean;
  /** Whether such a command reached the server after its deadline. */
  cameTooLate: boolean;
  /** The number of the last command before the one that took it out of the line. */
  leftAfter: number;
  /** Until then (monotonic ms) a copy of its command may still run (R13); 0: surely none. */
  outcomeUnknownUntil: number;
  /** The refusal of an ended wait is delayed until the server reports its blocker. */
  awaitingBlocker: boolean;
}

/** When an event happens. */
export interface Moment extends Instant {
  /** How many commands this client has sent so far. A reply to one of these is older than any later event (M6). */
  readonly order: number;
}

/** Why a command got no usable reply. */
export interface Failure {
  /** Whether it, or an earlier copy of it, may have taken effect (R13). */
  readonly effect: 'none' | 'unknown';
  readonly retriable: boolean;
  /** Milliseconds after which it should be repeated; Infinity: when there is a connection again. */
  readonly retryAfter: number;
  /** It reached the server after its deadline: it wrote nothing, and no copy of it will. */
  readonly tooLate: boolean;
  readonly error: FairLockError;
}

/** The events of every protocol. */
export type CommonEvent<T extends ProtocolTypes> =
  | { readonly type: 'requested'; readonly request: T['newRequest'] }
  /** The wait time is over, or the caller aborts. */
  | { readonly type: 'cancelled'; readonly request: T['request']; readonly why: 'wait time' | 'abort' }
  /** A holder releases. `kept`: it had not lost the lock before. */
  | {
      readonly type: 'section ended';
      readonly grant: T['grant'];
      readonly kept: boolean;
      /** ms from the grant during which the lock is passed to no request; absent: it is passed on at once. */
      readonly keep?: number | undefined;
    }
  /** A holder looked at its lease and found it over, by the local clocks (R12). */
  | { readonly type: 'lease lost'; readonly grant: T['grant'] }
  /** The lease is not to be renewed any more. */
  | { readonly type: 'renewing stopped'; readonly grant: T['grant'] }
  /** A command was answered, or failed for good. */
  | { readonly type: 'reply'; readonly command: T['command']; readonly reply: T['reply'] }
  | { readonly type: 'failed'; readonly command: T['command']; readonly failure: Failure }
  /** A message may have been missed, so the view must ask the server. */
  | { readonly type: 'look' }
  /** The wake-up time is reached. */
  | { readonly type: 'due' }
  | { readonly type: 'closing' };

/** All events of a lock, and all effects that they may have. */
export type EventOf<T extends ProtocolTypes> = CommonEvent<T> | T['event'];
export type EffectOf<T extends ProtocolTypes> = CommonEffect<T> | T['effect'];

/** The effects of every protocol. */
export type CommonEffect<T extends ProtocolTypes> =
  /** The command comes back once, with the reply or the failure. */
  | { readonly type: 'send'; readonly command: T['command'] }
  /** The request holds the lock; `left` counts from `since`, safety margin taken off. */
  | {
      readonly type: 'grant';
      readonly request: T['request'];
      readonly grant: T['grant'];
      readonly since: Instant;
      readonly left: number;
    }
  | {
      readonly type: 'refuse';
      readonly request: T['request'];
      readonly refusal: T['refusal'] | CommonRefusal;
    }
  /** How many will be served before the request. */
  | { readonly type: 'report place'; readonly request: T['request']; readonly ahead: number }
  | {
      readonly type: 'renew lease';
      readonly grant: T['grant'];
      readonly since: Instant;
      readonly left: number;
    }
  | { readonly type: 'suspect lease' | 'end lease'; readonly grant: T['grant'] }
  | { readonly type: 'lose lease'; readonly grant: T['grant']; readonly why: string }
  /** The server has acknowledged the release after that section, or the caller need not wait for it any longer. */
  | { readonly type: 'released'; readonly grant: T['grant'] }
  /** When to send the event `due` (monotonic ms); Infinity: never. */
  | { readonly type: 'wake up'; readonly at: number }
  /** Neither a request nor a grant nor a command is left. */
  | { readonly type: 'forget' }
  /** After `closing`: everything is released. */
  | { readonly type: 'closed' };

/** The holder that blocks a request, for display. */
export type Blocker = LockTimeoutError['blockedBy'];

/** How many grants of a request with a fixed lease may end before this client receives them. */
export const MOST_MISSED = 3;

/** Why a request does not get the lock, in every protocol. */
export type CommonRefusal =
  | { readonly why: 'wait time' | 'busy'; readonly blocker: Blocker }
  | { readonly why: 'full' | 'abort' | 'closing' }
  /** So many grants in a row were over before this client received them. */
  | { readonly why: 'lease too short'; readonly missed: number }
  | { readonly why: 'error'; readonly error: FairLockError };

import type { Instant } from '../../../core/clock.js';
import type { FairLockError } from '../../../core/errors.js';
import type { AcquireArgs } from '../commands/lock-commands.js';
import type { AcquireReply, LeaveReply, ReleaseReply, RenewReply } from '../commands/reply.js';

/** When an event happens. */
export interface Moment extends Instant {
  /** How many commands this client has sent by then. */
  readonly order: number;
}

/** A call that wants the lock. Requests and grants are named by their ids on the wire. */
export interface NewRequest extends AcquireArgs {
  /** Whether its grant is to be renewed; otherwise its lease is fixed. */
  readonly renewed: boolean;
  /** For people: `web-1/4711/OrdersService.pay`. */
  readonly who: string;
}

/** Why a command got no usable reply. */
export interface Failure {
  /** Whether it, or an earlier copy of it, may have taken effect (R13). */
  readonly effect: 'none' | 'unknown';
  readonly retriable: boolean;
  /** Milliseconds after which it should be repeated; Infinity: when there is a connection again. */
  readonly retryAfter: number;
  readonly error: FairLockError;
}

export type Reply = AcquireReply | ReleaseReply | LeaveReply | RenewReply;

/** What happens to a line. */
export type LineEvent =
  | { readonly type: 'requested'; readonly request: NewRequest }
  /** The wait time is over, or the caller aborts. */
  | { readonly type: 'cancelled'; readonly id: string; readonly why: 'wait time' | 'abort' }
  /** A holder releases, whether it has lost the lock or not. */
  | { readonly type: 'section ended'; readonly id: string; readonly leaseTime: number }
  /** A holder looked at its lease and found it over, by the local clocks (R12). */
  | { readonly type: 'lease lost'; readonly id: string }
  /** The lease is not to be renewed any more: the command of that number was not sent. */
  | { readonly type: 'renewing stopped'; readonly command: number }
  /** A command was answered, or failed for good. */
  | { readonly type: 'reply'; readonly command: number; readonly reply: Reply }
  | { readonly type: 'failed'; readonly command: number; readonly failure: Failure }
  /** It may be the turn of that request, if it is one of this client (R9). */
  | { readonly type: 'woken'; readonly id: string }
  /** Messages to that request are received from now on. */
  | { readonly type: 'subscribed'; readonly id: string }
  /** This client took that grant by force. */
  | { readonly type: 'forced'; readonly id: string }
  /** Something may have been missed: a connection is back. */
  | { readonly type: 'look' }
  /** The wake-up time is reached. */
  | { readonly type: 'due' }
  | { readonly type: 'closing' };

/** A command with all that its typed call needs. */
export type Command =
  | { readonly kind: 'acquire'; readonly args: AcquireArgs; readonly deadline: number }
  | { readonly kind: 'leave'; readonly id: string; readonly wait: number }
  | { readonly kind: 'release' | 'renew'; readonly id: string; readonly leaseTime: number };

/** Who is in the way, for people. */
export interface Blocker {
  readonly holder?: string;
  /** Milliseconds. */
  readonly heldFor?: number;
  readonly ahead?: number;
}

/** Why a request does not get the lock. */
export type Refusal =
  | { readonly why: 'wait time' | 'busy'; readonly blocker: Blocker }
  | { readonly why: 'full' | 'abort' | 'closing' }
  /** No reply came within the lease. */
  | { readonly why: 'lease too short'; readonly leaseTime: number }
  | { readonly why: 'error'; readonly error: FairLockError };

/** What is to be done about it. */
export type Effect =
  | { readonly type: 'send'; readonly number: number; readonly command: Command }
  /** Say `subscribed` when messages to that request are received, or cannot be for now. */
  | { readonly type: 'subscribe' | 'unsubscribe'; readonly id: string }
  /** The request holds the lock; `left` counts from `since`, safety margin taken off. */
  | {
      readonly type: 'grant';
      readonly id: string;
      readonly leaseTime: number;
      readonly since: Instant;
      readonly left: number;
    }
  | { readonly type: 'refuse'; readonly id: string; readonly refusal: Refusal }
  /** How many will be served before the request. */
  | { readonly type: 'report place'; readonly id: string; readonly ahead: number }
  /** An operator should know that the request stands at the end of the line now. */
  | { readonly type: 'warn of lost place'; readonly id: string }
  | { readonly type: 'renew lease'; readonly id: string; readonly since: Instant; readonly left: number }
  | { readonly type: 'suspect lease' | 'end lease'; readonly id: string }
  | { readonly type: 'lose lease'; readonly id: string; readonly why: string }
  /** What the end of that section gave back is given back, or need not be waited for any longer. */
  | { readonly type: 'released'; readonly id: string }
  /** When to send the event `due` (monotonic ms); Infinity: never. */
  | { readonly type: 'wake up'; readonly at: number }
  /** Neither a request nor a grant nor a command is left. */
  | { readonly type: 'forget' }
  /** After `closing`: everything is given back. */
  | { readonly type: 'closed' };

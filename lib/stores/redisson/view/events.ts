import type { EffectOf, EventOf, ProtocolTypes } from '../../redis-client/view/protocol-types.js';
import type { AcquireReply, LeaveReply, ReleaseReply, RenewReply } from '../commands/reply.js';
import type { ActiveGrant, NewRequest, PlaceRequest } from './model.js';

export type Reply = AcquireReply | ReleaseReply | LeaveReply | RenewReply;

export type ViewEvent = EventOf<RedissonTypes>;
export type Effect = EffectOf<RedissonTypes>;

/** Requests and their grants are named by their ids on the wire. */
export interface RedissonTypes extends ProtocolTypes {
  readonly request: string;
  readonly grant: string;
  readonly newRequest: NewRequest;
  readonly place: PlaceRequest;
  readonly command: Command;
  readonly reply: Reply;
  readonly refusal: never;
  readonly effect:
    /** Send `subscribed` when messages to that request are received, or cannot be for now. */
    | { readonly type: 'subscribe' | 'unsubscribe'; readonly id: string }
    /** An operator should know that the request stands at the end of the line now. */
    | { readonly type: 'warn of lost place'; readonly id: string };
  readonly event:
    /** It may be the turn of that request, if it is one of this client (R9). */
    | { readonly type: 'woken'; readonly id: string }
    /** Messages to that request are received from now on. */
    | { readonly type: 'subscribed'; readonly id: string }
    /** This client took that grant by force. */
    | { readonly type: 'forced'; readonly id: string };
}

/** A command with all that its typed call needs, and what its reply is about. */
export type Command =
  | { readonly kind: 'acquire'; readonly request: PlaceRequest; readonly deadline: number }
  /** `requestsAgain`: the request joins the line anew after it. */
  | { readonly kind: 'leave'; readonly request: PlaceRequest; readonly requestsAgain: boolean }
  /** `keptUntil`: until when nobody gets the lock (Redis ms); 0: it is not kept. */
  | {
      readonly kind: 'release';
      readonly id: string;
      readonly leaseTime: number;
      readonly keptUntil: number;
    }
  | { readonly kind: 'renew'; readonly grant: ActiveGrant };

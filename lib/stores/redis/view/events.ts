import type { FairLockError } from '../../../core/errors/errors.js';
import type { EffectOf, EventOf, ProtocolTypes } from '../../redis-client/view/protocol-types.js';
import type { FinishedGrant, HeartbeatArgs, RequestName } from '../commands/arguments.js';
import type {
  AcquireReply,
  HeartbeatReply,
  JoinReply,
  LeaveReply,
  PresentGrant,
  PresentShare,
  PresentShares,
  ReleaseReply,
} from '../commands/reply.js';
import type { NewRequest, PlaceRequest, Batch, SharedHold } from './model.js';

/** How many replicas have a renewal. */
export interface Replicated {
  readonly replicas: number;
  /** Whether that is at least the demanded number. */
  readonly enough: boolean;
  /** Why this server cannot tell. */
  readonly refusal: FairLockError | undefined;
}

/** A heartbeat's reply; `replicated` where the renewal counts only when replicas have it. */
export type ReplicatedReply = HeartbeatReply & { readonly replicated?: Replicated };

export type Reply = AcquireReply | JoinReply | ReleaseReply | LeaveReply | ReplicatedReply;

export type ViewEvent = EventOf<NativeTypes>;
export type Effect = EffectOf<NativeTypes>;

/** Requests are named by their sequence. */
export interface NativeTypes extends ProtocolTypes {
  readonly request: number;
  /** A token of an exclusive grant, or the name of a shared hold. */
  readonly grant: number | string;
  readonly newRequest: NewRequest;
  readonly place: PlaceRequest;
  readonly command: Command;
  readonly reply: Reply;
  /** Too few replicas have its grant, or it is not known how many. */
  readonly refusal: { readonly why: 'not replicated'; readonly replicated: Replicated | undefined };
  /** Send `turn ended` when this turn of the event loop is over. */
  readonly effect: { readonly type: 'await turn' };
  readonly event:
    /** The turn of the event loop is over: new requests of this turn ask together. */
    | { readonly type: 'turn ended' }
    /** A renewal was answered, but replicas may not have it yet; `reply` or `failed` follows. */
    | { readonly type: 'written'; readonly command: Command; readonly reply: HeartbeatReply }
    /** Messages, which may come late, twice or never (R9). */
    | { readonly type: 'granted'; readonly grant: PresentGrant }
    | { readonly type: 'revoked'; readonly first: number }
    | { readonly type: 'shared'; readonly shares: PresentShares }
    | { readonly type: 'share revoked'; readonly share: PresentShare }
    /** The subscription is up since then (monotonic ms), or down. */
    | { readonly type: 'subscription'; readonly upSince: number | undefined }
    /** Which primary keeps the lock from now on, where that is known. */
    | { readonly type: 'server'; readonly id: string | undefined }
    /** The store refuses all requests from now on. */
    | { readonly type: 'refused'; readonly error: FairLockError };
}

/** A command with all that its typed call needs, and what its reply is about. */
export type Command =
  | { readonly kind: 'acquire'; readonly request: PlaceRequest; readonly deadline: number }
  | { readonly kind: 'join'; readonly requests: readonly PlaceRequest[]; readonly deadline: number }
  | {
      readonly kind: 'release';
      readonly grant: FinishedGrant;
      readonly markAlive: boolean;
      /** Token of the section that waits for the acknowledgement. */
      readonly ended: number | undefined;
    }
  /** Shared requests are over. */
  | {
      readonly kind: 'end shares';
      readonly requests: readonly RequestName[];
      readonly keep: number | undefined;
      readonly markAlive: boolean;
      /** The one whose section waits for the acknowledgement. */
      readonly hold: SharedHold | undefined;
    }
  | { readonly kind: 'leave'; readonly request: PlaceRequest; readonly markAlive: boolean }
  | {
      readonly kind: 'heartbeat';
      readonly args: HeartbeatArgs;
      /** Whether the renewal is valid only when replicas have it. */
      readonly replicate: boolean;
      readonly batch: Batch | undefined;
      readonly late: PresentGrant | undefined;
    }
  /** A renewal that is repeated until replicas have it, or time is up. */
  | { readonly kind: 'confirm'; readonly args: HeartbeatArgs; readonly batch: Batch };

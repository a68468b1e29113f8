import type { Instant } from '../../../core/port/lease.js';
import type { Share } from '../../../core/port/lock-store.js';
import type { CommonRequest } from '../../redis-client/view/protocol-types.js';

/** A new request for the lock. */
export interface NewRequest {
  readonly sequence: number;
  readonly leaseTime: number | undefined;
  /** The request is a try: it never waits in line. */
  readonly tries: boolean;
  readonly maxQueue: number;
  /** The request joins no batch. */
  readonly alone: boolean;
  /** How the request shares the lock with others; undefined: it holds the lock alone. */
  readonly share?: Share | undefined;
  readonly label: string;
}

/** One request, with what this client knows of its place. */
export interface PlaceRequest extends NewRequest, CommonRequest {
  /** When the request was made (monotonic ms). */
  readonly since: number;
  /** Place in line, given by Redis; 0 before the first acknowledgement. */
  ticket: number;
  /** The client's generation under which the request was last acknowledged (M5). */
  generation: number;
  /** Only the reply to a command sent after this one acknowledges the place (M6); -1: no further acknowledgement is needed. */
  confirmAfter: number;
  placeReported: boolean;
  /** The highest number of its shared holds that were taken away before this client entered them. */
  takenAway: number;
  /** No copy of an earlier command could run when the present one was sent. */
  confirmedBefore: boolean;
}

/** Exclusive grants are named by their token, shared holds by a text. */
export function isShared(grant: number | string): grant is string {
  return typeof grant === 'string';
}

/** A lease as this side counts it. */
export interface LeaseHere {
  /** The instant from which `left` counts (M1). `left` is without the margin. */
  since: Instant;
  left: number;
  /** Milliseconds by which this side ends the lease earlier than the server (R12), from what the server granted last. */
  margin: number;
}

/** A request of this client that holds the lock together with others. */
export interface SharedHold extends LeaseHere {
  readonly request: PlaceRequest;
  /** Names the hold for the callers of this machine, which know tokens of exclusive grants as numbers. */
  readonly name: string;
  /** Names the hold for Redis. */
  readonly number: number;
  /** How many commands this client had sent when it learned of the hold: a later one must find it (M2). */
  readonly order: number;
  /** Whether its lease is fixed; otherwise heartbeats renew it together with the others. */
  readonly fixed: boolean;
  renewable: boolean;
}

/** The member of a batch that holds the lock. */
export interface Holder {
  readonly request: PlaceRequest;
  readonly token: number;
  renewable: boolean;
}

/**
 * A grant as this client uses it. It covers a batch of requests, neighbours in line: they hold the lock one after the other, are
 * renewed together, and are released once at the end (R14).
 */
export interface Batch extends LeaseHere {
  /** Token of the first request; names the grant. */
  readonly first: number;
  readonly sequences: readonly number[];
  /** The requests of `sequences`; undefined for one that this client no longer has. */
  readonly members: readonly (PlaceRequest | undefined)[];
  /** Fixed lease of its only request; undefined: the watchdog renews. */
  readonly leaseTime: number | undefined;
  /** Whether Redis has confirmed the full length of a fixed lease. */
  confirmed: boolean;
  /** Index of the next member. */
  next: number;
  /** When this client learned of the grant (monotonic ms). */
  readonly grantedAt: number;
  /** How many turns have been reported to Redis, which shows the holder and the length of the line accordingly. */
  reported: number;
  /** When the present holder got its turn (monotonic ms). */
  holderSince: number;
  holder: Holder | undefined;
}

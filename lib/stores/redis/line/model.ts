import type { Instant } from '../../../core/lease.js';
import type { CommonRequest } from '../../redis-client/line-machine.js';

/** A call that wants the lock. */
export interface NewRequest {
  readonly sequence: number;
  readonly leaseTime: number | undefined;
  /** It wants the lock now or not at all. */
  readonly tries: boolean;
  readonly maxQueue: number;
  readonly label: string;
}

/** One request, with what this client knows of its place. */
export interface PlaceRequest extends NewRequest, CommonRequest {
  /** When it came (monotonic ms). */
  readonly since: number;
  /** Place in line, given by Redis; 0 before the first acknowledgement. */
  ticket: number;
  /** The client's generation under which the request was last acknowledged (M5). */
  generation: number;
  /** Only the reply to a later command than this acknowledges it (M6); -1: it needs no other. */
  confirmAfter: number;
  placeReported: boolean;
  /** No copy of an earlier command could run when the present one was sent. */
  confirmedBefore: boolean;
}

/** The member of a run that holds the lock. */
export interface Holder {
  readonly request: PlaceRequest;
  readonly token: number;
  renewable: boolean;
}

/**
 * A grant as this client uses it. It covers a run of requests, neighbours in line: they hold the lock one after the other, are
 * renewed together, and are released once at the end (R14).
 */
export interface Run {
  /** Token of the first request; names the grant. */
  readonly first: number;
  readonly sequences: readonly number[];
  /** Undefined: a request that this client no longer has. */
  readonly members: readonly (PlaceRequest | undefined)[];
  /** Fixed lease of its only request; undefined: the watchdog renews. */
  readonly leaseTime: number | undefined;
  /** Taken off the lease on this side (R12); a tenth of what the server has granted last is enough. */
  margin: number;
  /** From when `left` counts (M1); margin taken off. */
  since: Instant;
  left: number;
  /** Set when Redis has confirmed the whole of a fixed lease. */
  confirmed: boolean;
  /** Index of the next member. */
  next: number;
  /** How many turns Redis knows of: whose label and token it shows, and how many wait behind it. */
  reported: number;
  /** When the present holder got its turn (monotonic ms). */
  holderSince: number;
  holder: Holder | undefined;
}

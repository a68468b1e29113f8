import type { Instant } from '../../../core/port/lease.js';
import type { CommonRequest } from '../../redis-client/view/protocol-types.js';
import type { AcquireArgs } from '../commands/lock-commands.js';

/** A new request for the lock. */
export interface NewRequest extends AcquireArgs {
  /** Whether its grant is to be renewed; otherwise its lease is fixed. */
  readonly renewed: boolean;
  /** For people: `web-1/4711/OrdersService.pay`. */
  readonly who: string;
}

/** One request, with what this client knows of its place. */
export interface PlaceRequest extends NewRequest, CommonRequest {
  /** When the request was made (monotonic ms). */
  readonly arrivedAt: number;
  /** Infinity once it was in line, so that it is not refused if it must enter again. */
  maxQueue: number;
  /** Acknowledged in line at least once. */
  placed: boolean;
  /** Its grant was taken by force before the reply with the grant was applied. */
  forced: boolean;
  /** Whether its channel is, or will be, subscribed. */
  subscribed: boolean;
  /** Whether another acquire must follow the one that is under way. */
  requestAgain: boolean;
  /** The last command before its last acquire, and the last of its acquires that was answered. */
  confirmAfter: number;
  answered: number;
}

/** The grant of a request, while it is held. */
export interface ActiveGrant {
  readonly id: string;
  readonly who: string;
  readonly grantedAt: number;
  readonly leaseTime: number;
  /** How much earlier than the server this side ends the lease, ms (R12). */
  readonly margin: number;
  /** The instant from which `left` counts (M1). `left` is without the margin. */
  since: Instant;
  left: number;
  /** Infinity: it is not renewed. */
  nextRenewal: number;
  renewing: boolean;
}

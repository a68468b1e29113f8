import type { Instant } from '../../../core/lease.js';
import type { CommonRequest } from '../../redis-client/line-machine.js';
import type { AcquireArgs } from '../commands/lock-commands.js';

/** A call that wants the lock. */
export interface NewRequest extends AcquireArgs {
  /** Whether its grant is to be renewed; otherwise its lease is fixed. */
  readonly renewed: boolean;
  /** For people: `web-1/4711/OrdersService.pay`. */
  readonly who: string;
}

/** One request, with what this client knows of its place. */
export interface PlaceRequest extends NewRequest, CommonRequest {
  /** When it came (monotonic ms). */
  readonly arrivedAt: number;
  /** Infinity once it was in line: it is not refused when it has to enter again. */
  maxQueue: number;
  /** Acknowledged in line at least once. */
  placed: boolean;
  /** Its grant was taken by force before the reply with the grant was applied. */
  forced: boolean;
  /** Whether its channel is, or will be, subscribed. */
  subscribed: boolean;
  /** Something happened since the acquire that is under way: another must follow. */
  requestAgain: boolean;
  /** The last command before its last acquire, and the last of its acquires that was answered. */
  confirmAfter: number;
  answered: number;
}

/** The grant of a request, as long as it counts. */
export interface ActiveGrant {
  readonly id: string;
  readonly who: string;
  readonly grantedAt: number;
  readonly leaseTime: number;
  /** Taken off the lease on this side (R12). */
  readonly margin: number;
  /** From when `left` counts (M1); margin taken off. */
  since: Instant;
  left: number;
  /** Infinity: it is not renewed. */
  nextRenewal: number;
  renewing: boolean;
}

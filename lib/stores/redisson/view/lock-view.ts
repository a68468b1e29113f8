import type { Blocker } from '../../redis-client/view/protocol-types.js';
import { CommonView } from '../../redis-client/view/common-view.js';
import { keeper } from '../commands/reply.js';
import type { Timing } from '../commands/timing.js';
import type { RedissonTypes } from './events.js';
import type { ActiveGrant, PlaceRequest } from './model.js';

/** A grant whose section runs. */
interface Section {
  readonly leaseTime: number;
  /** By the clock of Redis, ms. */
  readonly grantedAt: number;
}

/** One lock as this client sees it. Only the functions beside this file change it. */
export class LockView extends CommonView<RedissonTypes> {
  readonly grants = new Map<string, ActiveGrant>();
  /** The grants whose sections run, lost ones too. */
  readonly sections = new Map<string, Section>();
  /** The place of a request is confirmed if its last acquire was this command or a later one. */
  checkedOrder = 0;
  /** When the first in line asks even without a message. */
  nextLook = Infinity;
  /** How often in a row the lock was found free, waiting for a head that is not of this client. */
  freeLooks = 0;

  constructor(readonly timing: Timing) {
    super();
  }

  /**
   * Takes the request out of the line, and out of the lock if it was just granted.
   *
   * @param requestsAgain whether the request joins the line anew after that
   */
  leave(request: PlaceRequest, requestsAgain = false): void {
    request.leftAfter = this.now.order;
    this.send({ kind: 'leave', request, requestsAgain });
  }

  protected override leaveAgain(request: PlaceRequest): void {
    if (!this.grants.has(request.id)) this.leave(request);
  }

  override remove(request: PlaceRequest): void {
    super.remove(request);
    if (request.subscribed) this.effects.push({ type: 'unsubscribe', id: request.id });
  }

  /** Makes the first in line ask within `delay` ms, and within `timing.look` at the latest. */
  lookWithin(delay: number): void {
    const due = this.now.monotonic + Math.min(delay, this.timing.look);
    this.nextLook = Math.min(this.nextLook, due);
  }

  /** The display name of this client's request with that id in Redis, and since when it holds or waits (monotonic ms). */
  describe(id: string): { readonly who: string; readonly since: number } | undefined {
    const grant = this.grants.get(id);
    if (grant) return { who: grant.who, since: grant.grantedAt };
    const request = this.waiting.get(id);
    return request && { who: request.who, since: request.arrivedAt };
  }

  /** The holder, for display: its label if it is of this client, else its id in Redis. `left`: ms left of its lease. */
  blocker(id: string | undefined, left: number): Blocker {
    if (id === undefined) return {};
    const kept = keeper(id);
    if (kept !== undefined) return { holder: kept, keptFor: left };
    const known = this.describe(id);
    return known ? { holder: known.who, heldFor: this.now.monotonic - known.since } : { holder: id };
  }

  protected nameOf({ id }: PlaceRequest): string {
    return id;
  }
}

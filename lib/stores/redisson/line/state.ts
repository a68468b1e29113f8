import type { Blocker } from '../../redis-client/line-machine.js';
import { LineState } from '../../redis-client/line-state.js';
import type { Timing } from '../timing.js';
import type { RedissonTypes } from './events.js';
import type { ActiveGrant, PlaceRequest } from './model.js';

/** One lock as this client sees it. Only the functions beside this file change it. */
export class Line extends LineState<RedissonTypes> {
  readonly grants = new Map<string, ActiveGrant>();
  /** The lease times of grants whose sections run, lost ones too. */
  readonly sections = new Map<string, number>();
  /** A request that was sent with this command, or a later one, has a confirmed place. */
  checkedOrder = 0;
  /** When the first in line asks although nothing was received. */
  nextLook = Infinity;
  /** How often in a row the lock was found free, waiting for a head that is not of this client. */
  freeLooks = 0;

  constructor(readonly timing: Timing) {
    super();
  }

  /**
   * Out of the lock, too, if it was just granted.
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

  /** The first in line asks within `delay` ms, and within the time of a look in any case. */
  lookWithin(delay: number): void {
    const due = this.now.monotonic + Math.min(delay, this.timing.look);
    this.nextLook = Math.min(this.nextLook, due);
  }

  /** Who this client has under that name in Redis, for people, and since when (monotonic ms). */
  describe(id: string): { readonly who: string; readonly since: number } | undefined {
    const grant = this.grants.get(id);
    if (grant) return { who: grant.who, since: grant.grantedAt };
    const request = this.waiting.get(id);
    return request && { who: request.who, since: request.arrivedAt };
  }

  /** Who holds, for people; Redisson's name for it where it is not of this client. */
  blocker(id: string | undefined): Blocker {
    if (id === undefined) return {};
    const known = this.describe(id);
    return known ? { holder: known.who, heldFor: this.now.monotonic - known.since } : { holder: id };
  }

  protected nameOf({ id }: PlaceRequest): string {
    return id;
  }
}

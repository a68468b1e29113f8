import type { HeartbeatReply, PresentShare, PresentShares } from '../commands/reply.js';
import { lose } from './grant.js';
import { cameLate, marginOf, remaining, renew } from './lease.js';
import type { PlaceRequest, SharedHold } from './model.js';
import { missedGrant, requestAgain } from './requests.js';
import { endShares, loseNow } from './shared-end.js';
import { watch } from './shared-lease.js';
import type { LockView } from './lock-view.js';

/** Pause before a heartbeat is repeated whose reply came too late for the holds in it, ms. */
const LATE_PAUSE = 100;

const GONE = 'Redis no longer has this hold (it expired, was released by force, or its data was lost)';
const OVERTAKEN = 'Redis gave the lock to another request before this one was released';

/** A reply or a message says that these requests hold the lock; either may come at any later time (R9). */
export function applyShares(view: LockView, shares: PresentShares): void {
  for (const share of shares.list) {
    const waiter = view.waiting.get(share.sequence);
    if (waiter) enter(view, waiter, share, shares);
    else handBack(view, share);
  }
}

/** Ends a hold that no request of this client has or waits for (R10). */
function handBack(view: LockView, { sequence, number }: PresentShare): void {
  const hold = view.shares.get(sequence);
  if (hold && number > hold.number) {
    // Redis ended the hold; a late copy of the request's command got another.
    loseNow(view, hold, GONE);
  } else if (hold || view.lostShares.has(sequence) || view.ending.has(sequence)) {
    return;
  }
  endShares(view, [hold?.request ?? { sequence, leaseTime: undefined, alone: false }]);
}

function enter(view: LockView, request: PlaceRequest, share: PresentShare, shares: PresentShares): void {
  const { number } = share;
  if (number <= request.takenAway || number < view.lastExclusive) return;
  // Exclusive grants from before this hold are over.
  view.finished = Math.max(view.finished, number);
  if (view.batch) lose(view, view.batch, OVERTAKEN);
  const stopBy = sectionsStopBy(view);
  // The section that lost the lock may still run; the reply to a heartbeat comes here again after that.
  if (view.now.monotonic < stopBy) return askAt(view, request, stopBy);
  const fixed = share.left !== undefined;
  const given = share.left ?? shares.left;
  const margin = marginOf(view, request.leaseTime, given);
  const hold: SharedHold = {
    request,
    name: `shared ${request.sequence}`,
    number,
    order: view.now.order,
    fixed,
    since: shares.since,
    left: given - margin,
    margin,
    renewable: !fixed,
  };
  const left = remaining(view, hold);
  // Less than the margin is left of the lease. A heartbeat renews it, and its reply comes here again (M1).
  if (cameLate(view, shares) || left <= 0) return askAt(view, request, view.now.monotonic);
  request.state = 'granted';
  view.remove(request);
  view.shares.set(request.sequence, hold);
  watch(view, hold);
  const { heartbeat } = view.settings.timing;
  view.beatBy(view.now.monotonic + Math.min(heartbeat, left / 2));
  view.effects.push({
    type: 'grant',
    request: request.sequence,
    grant: hold.name,
    since: hold.since,
    left: hold.left,
  });
}

function askAt(view: LockView, request: PlaceRequest, moment: number): void {
  view.lateShares.set(request, view.now.order);
  view.beatBy(moment);
}

/** No section of this client begins before then (monotonic ms), since one that lost the lock may still run. */
export function sectionsStopBy(view: LockView): number {
  let stopBy = view.lostButRunning?.stopBy ?? -Infinity;
  for (const lost of view.lostShares.values()) stopBy = Math.max(stopBy, lost.stopBy);
  return stopBy;
}

/** Redis has granted the lock to a request alone, so the shared holds of this client are over. */
export function loseShares(view: LockView): void {
  for (const hold of [...view.shares.values()]) loseNow(view, hold, OVERTAKEN);
}

/** A hold was taken away by force. It is not entered if its reply, which comes by another connection, arrives later. */
export function revokeShare(view: LockView, { sequence, number }: PresentShare): void {
  const hold = view.shares.get(sequence);
  if (hold?.number === number) return loseNow(view, hold, 'it was released by force');
  const waiter = view.waiting.get(sequence);
  if (!waiter) return;
  waiter.takenAway = Math.max(waiter.takenAway, number);
  requestAgain(view, waiter);
}

/**
 * The reply to a heartbeat lists all shared holds that Redis has of this client: renews them here, and loses those that it lacks. It does
 * not touch those that this client got after it had sent the heartbeat (M2).
 *
 * @param apply applies the common part of the reply, which enters the holds that requests still wait for
 */
export function confirmShares(view: LockView, reply: HeartbeatReply, apply: () => void): void {
  const late = [...view.lateShares].flatMap(([request, order]) => (order < reply.order ? [request] : []));
  for (const request of late) view.lateShares.delete(request);
  apply();
  for (const request of late) {
    if (view.lateShares.has(request))
      view.nextBeat = Math.max(view.nextBeat, view.now.monotonic + LATE_PAUSE);
    // If it has not entered either, Redis has ended its hold.
    else missedGrant(view, request);
  }
  if (view.shares.size === 0) return;
  const isLate = reply.shares && cameLate(view, reply.shares);
  if (isLate) view.beatBy(view.now.monotonic);
  const listed = new Map(reply.shares?.list.map((share) => [share.sequence, share]));
  for (const hold of [...view.shares.values()]) {
    if (hold.order >= reply.order) continue;
    const share = listed.get(hold.request.sequence);
    if (share?.number !== hold.number) loseNow(view, hold, GONE);
    else if (reply.shares && !isLate && (hold.fixed || hold.renewable)) {
      const { since, left } = reply.shares;
      renew(view, hold, hold.name, { since, left: share.left ?? left, leaseTime: hold.request.leaseTime });
    }
  }
}

import type { Blocker } from '../../redis-client/view/protocol-types.js';
import type { AcquireReply, JoinReply, LeaveReply, LockReply, PresentGrant } from '../commands/reply.js';
import { finish, handOn, keptByServer, lose, newBatch, release, renewalOf, unserved } from './grant.js';
import { cameLate, remaining } from './lease.js';
import type { PlaceRequest, Batch } from './model.js';
import {
  acknowledge,
  applyGeneration,
  heartbeatArgs,
  isPresent,
  markedAlive,
  missedGrant,
  mustConfirm,
  mustRequest,
  queuedBehind,
  reportPlace,
  requestAgain,
  requestPlace,
} from './requests.js';
import { applyShares, loseShares, sectionsStopBy } from './shared.js';
import type { LockView } from './lock-view.js';

/** How long (ms) a try asks again if the lock is free and only requests of unreachable clients are in line. */
const LONGEST_TRY = 500;
/** Pause before a heartbeat is repeated whose reply came too late for the grant in it, ms. */
const LATE_PAUSE = 100;

/** Applies the part that every reply has, whatever the command was. */
export function applyReply(view: LockView, reply: LockReply): void {
  if (reply.order > view.newest) {
    view.newest = reply.order;
    view.mustRetry = reply.mustRetry;
    view.wakeAt = reply.wake < 0 ? Infinity : view.now.monotonic + reply.wake + 1 + view.wakeSpread;
    applyGeneration(view, reply.generation);
  }
  if (reply.grant) applyGrant(view, reply.grant, reply.order);
  if (reply.shares) applyShares(view, reply.shares);
}

// ---- asking for places -----------------------------------------------------------------------------------------------

export function applyPlaceReply(
  view: LockView,
  requests: readonly PlaceRequest[],
  reply: AcquireReply | JoinReply,
): void {
  for (const request of requests) {
    request.requesting = false;
    // A single command that was answered leaves no copy behind (R13).
    if (!reply.repeated && request.confirmedBefore) request.outcomeUnknownUntil = 0;
  }
  if (reply.status === 'queued') queued(view, requests, reply);
  for (const request of requests) {
    if (reply.status === 'busy') busy(view, request, reply);
    if (reply.status === 'full') view.refuse(request, { why: 'full' });
  }
  // This comes before the place is reported to the caller, because the reply may contain the grant.
  applyReply(view, reply);
  for (const [index, request] of requests.entries()) {
    if (reply.status === 'queued') settlePlace(view, request, reply, reply.ahead + index);
    // The join was repeated: each request asks by a command of its own.
    else if (reply.status === 'known') requestPlace(view, request);
    else if (reply.status === 'granted') lookForGrant(view, request);
  }
  if (reply.status === 'granted') return;
  for (const request of requests) if (mustRequest(view, request)) requestPlace(view, request);
}

function queued(
  view: LockView,
  requests: readonly PlaceRequest[],
  reply: LockReply & { ticket: number; ahead: number },
) {
  markedAlive(view, reply);
  queuedBehind(view, reply.ahead);
  for (const [index, request] of requests.entries()) acknowledge(request, reply.ticket + index, reply);
}

function settlePlace(view: LockView, request: PlaceRequest, { order }: LockReply, ahead: number): void {
  // A request that is over is in line, because this command ran after its leave.
  if (request.state === 'refused' && order > request.leftAfter) view.leave(request);
  else reportPlace(view, request, ahead);
}

/** The server has the request in its present grant, which may differ from the grant that this client knows. */
function lookForGrant(view: LockView, request: PlaceRequest): void {
  if (isPresent(view, request) || view.lateShares.has(request)) return;
  // The request is not in the grant of this client. While a release is under way, or while this client refuses the server's grant
  // because its token is not higher, the server gives the same answer each round trip: so ask again only after a pause.
  if (view.releasing > 0 || mustConfirm(request)) view.requestAfterPause(request);
  else requestAgain(view, request);
}

function busy(
  view: LockView,
  request: PlaceRequest,
  { mustRetry, wake, blocker }: LockReply & { readonly blocker: Blocker },
): void {
  // Free, but the clients in line are unreachable: whether they are dead is known when the grace period is over (R6).
  const again = view.now.monotonic + wake + 1;
  const soon = mustRetry && again - request.since < LONGEST_TRY;
  if (soon) view.remind({ at: again, what: 'request place', request });
  else view.refuse(request, { why: 'busy', blocker });
}

/** What blocked a request that left the line. */
export function blockerOf({ blocker, ahead }: LeaveReply): Blocker {
  return { ...blocker, ...(ahead >= 0 && { ahead }) };
}

// ---- grants ---------------------------------------------------------------------------------------------------------

/** The reply to command number `order` contains a grant of this client. */
function applyGrant(view: LockView, grant: PresentGrant, order: number): void {
  if (grant.first > view.finished) return present(view, grant);
  // The reply is from before the release, or the release is still under way: there is nothing to do.
  if (view.releasing > 0 || order <= view.releasedAfter) return;
  const { lostButRunning } = view;
  if (grant.first === lostButRunning?.batch.first) return keptByServer(lostButRunning, grant);
  // The grant is over for this client, so it is released again (M8); requests in it that still wait ask anew after that.
  release(view, { first: grant.first, head: 0, unserved: [], leaseTime: grant.left });
  for (const sequence of grant.batch) requestAgain(view, view.waiting.get(sequence));
}

/** A message announces a grant; it may arrive at any later time (R9). */
export function applyMessage(view: LockView, grant: PresentGrant): void {
  if (grant.first <= view.finished) return;
  const { late } = view;
  // No command was answered in between, so that the grant before is over tells nothing of the length of its lease.
  if (late && grant.first > late.first) endLate(view, late, requestAgain);
  present(view, grant);
}

/** Redis reports that this grant was taken away. */
export function revoke(view: LockView, first: number): void {
  if (view.batch?.first === first) lose(view, view.batch, 'it was released by force');
  else if (view.confirming?.first === first) finish(view, view.confirming);
  // The reply with this grant comes by another connection and may arrive later: the grant must not be entered then.
  else view.finished = Math.max(view.finished, first);
}

/** The grant was over before this client could enter it: its requests ask anew, for a higher token. */
export function dropLate(view: LockView, late: PresentGrant): void {
  endLate(view, late, missedGrant);
}

function endLate(view: LockView, late: PresentGrant, askAnew: typeof requestAgain): void {
  view.late = undefined;
  view.finished = Math.max(view.finished, late.first);
  for (const sequence of late.batch) askAnew(view, view.waiting.get(sequence));
}

function present(view: LockView, grant: PresentGrant): void {
  const { late } = view;
  if (late && grant.first < late.first) return;
  // Redis has made a newer grant, so the one that came too late is over, and no heartbeat will report it.
  if (late && grant.first > late.first) dropLate(view, late);
  if (view.batch) {
    if (grant.first <= view.batch.first) return;
    lose(view, view.batch, 'Redis gave the lock to another request before this one was released');
  }
  const { confirming } = view;
  if (confirming) {
    // No member waits any more, so the grant is handed on even before it is confirmed (R10).
    const unwanted = grant.first === confirming.first && unserved(confirming).length === 0;
    if (grant.first > confirming.first || unwanted) finish(view, confirming);
    if (grant.first <= confirming.first) return;
  }
  enter(view, grant);
}

function enter(view: LockView, grant: PresentGrant): void {
  const batch = newBatch(view, grant);
  view.lastExclusive = Math.max(view.lastExclusive, grant.first);
  loseShares(view);
  const stopBy = sectionsStopBy(view);
  const wanted = unserved(batch).length > 0;
  if (wanted && grant.first <= view.seenBefore) {
    // The server lost the last token, and its clock is behind that token. The requests ask for a higher token.
    finish(view, batch);
  } else if (wanted && view.now.monotonic < stopBy) {
    // The section that lost the lock may still run. A heartbeat asks for this grant after that, and its reply comes here again (M1).
    view.beatBy(stopBy);
    view.late = grant;
  } else if (wanted && view.settings.replicated) {
    view.late = undefined;
    confirm(view, batch);
  } else if (wanted && (cameLate(view, grant) || remaining(view, batch) <= 0)) {
    // Less than the margin is left of the lease. A heartbeat renews it, and its reply comes here again (M1).
    // If even that reply is too old, a clock of this host was set while it was on its way, or the lease is tiny: pause before the next.
    const pause = view.late?.first === grant.first ? LATE_PAUSE : 0;
    view.beatBy(view.now.monotonic + pause);
    view.late = grant;
  } else {
    view.late = undefined;
    view.batch = batch;
    handOn(view, batch);
  }
}

/**
 * Sends a renewal that replicas confirm, however the grant was announced: it comes after the grant in the order of
 * replication. Until then the grant is not held (docs/replication.md).
 */
export function confirm(view: LockView, batch: Batch): void {
  view.confirming = batch;
  view.send({ kind: 'confirm', args: heartbeatArgs(view, renewalOf(batch)), batch });
}

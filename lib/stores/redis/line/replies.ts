import type { Blocker } from '../../redis-client/line/line-machine.js';
import type { AcquireReply, JoinReply, LeaveReply, LockReply, PresentGrant } from '../commands/reply.js';
import { finish, handOn, lose, newRun, release, remaining, renewalOf, unserved } from './grant.js';
import type { PlaceRequest, Run } from './model.js';
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
import type { Line } from './state.js';

/** How long (ms) a try asks again if the lock is free and only requests of unreachable clients are in line. */
const LONGEST_TRY = 500;
/** Pause before a heartbeat is repeated whose reply came too late for the grant in it, ms. */
const LATE_PAUSE = 100;

/** Applies the part that every reply has, whatever the command was. */
export function applyReply(line: Line, reply: LockReply): void {
  if (reply.order > line.newest) {
    line.newest = reply.order;
    line.mustRetry = reply.mustRetry;
    line.wakeAt = reply.wake < 0 ? Infinity : line.now.monotonic + reply.wake + 1 + line.wakeSpread;
    applyGeneration(line, reply.generation);
  }
  if (reply.grant) applyGrant(line, reply.grant, reply.order);
}

// ---- asking for places -----------------------------------------------------------------------------------------------

export function applyPlaceReply(
  line: Line,
  requests: readonly PlaceRequest[],
  reply: AcquireReply | JoinReply,
): void {
  for (const request of requests) {
    request.requesting = false;
    // A single command that was answered leaves no copy behind (R13).
    if (!reply.repeated && request.confirmedBefore) request.outcomeUnknownUntil = 0;
  }
  if (reply.status === 'queued') queued(line, requests, reply);
  for (const request of requests) {
    if (reply.status === 'busy') busy(line, request, reply);
    if (reply.status === 'full') line.refuse(request, { why: 'full' });
  }
  // This comes before the place is reported to the caller, because the reply may contain the grant.
  applyReply(line, reply);
  for (const [index, request] of requests.entries()) {
    if (reply.status === 'queued') settlePlace(line, request, reply, reply.ahead + index);
    // The join was repeated: each request asks by a command of its own.
    else if (reply.status === 'known') requestPlace(line, request);
    else if (reply.status === 'granted') lookForGrant(line, request);
  }
  if (reply.status === 'granted') return;
  for (const request of requests) if (mustRequest(line, request)) requestPlace(line, request);
}

function queued(
  line: Line,
  requests: readonly PlaceRequest[],
  reply: LockReply & { ticket: number; ahead: number },
) {
  markedAlive(line, reply);
  queuedBehind(line, reply.ahead);
  for (const [index, request] of requests.entries()) acknowledge(request, reply.ticket + index, reply);
}

function settlePlace(line: Line, request: PlaceRequest, { order }: LockReply, ahead: number): void {
  // A request that is over is in line, because this command ran after its leave.
  if (request.state === 'refused' && order > request.leftAfter) line.leave(request);
  else reportPlace(line, request, ahead);
}

/** The server has the request in its present grant, which may differ from the grant that this client knows. */
function lookForGrant(line: Line, request: PlaceRequest): void {
  if (isPresent(line, request)) return;
  // The request is not in the grant of this client. While a release is under way, or while this client refuses the server's grant
  // because its token is not higher, the server gives the same answer each round trip: so ask again only after a pause.
  if (line.releasing > 0 || mustConfirm(request)) line.requestAfterPause(request);
  else requestAgain(line, request);
}

function busy(
  line: Line,
  request: PlaceRequest,
  { mustRetry, wake, blocker }: LockReply & { readonly blocker: Blocker },
): void {
  // Free, but the clients in line are unreachable: whether they are dead is known when the grace period is over (R6).
  const again = line.now.monotonic + wake + 1;
  const soon = mustRetry && again - request.since < LONGEST_TRY;
  if (soon) line.remind({ at: again, what: 'request place', request });
  else line.refuse(request, { why: 'busy', blocker });
}

/** What blocked a request that left the line. */
export function blockerOf({ blocker, ahead }: LeaveReply): Blocker {
  return { ...blocker, ...(ahead >= 0 && { ahead }) };
}

// ---- grants ---------------------------------------------------------------------------------------------------------

/** The reply to command number `order` contains a grant of this client. */
function applyGrant(line: Line, grant: PresentGrant, order: number): void {
  if (grant.first > line.finished) return present(line, grant);
  // The reply is from before the release, or the release is still under way: there is nothing to do.
  const old = line.releasing > 0 || order <= line.releasedAfter;
  if (old || grant.first === line.lostButRunning?.run.first) return;
  // M8: the grant is over for this client, so it is released again; requests in it that still wait ask anew after that.
  release(line, { first: grant.first, head: 0, unserved: [], leaseTime: grant.left });
  for (const sequence of grant.run) requestAgain(line, line.waiting.get(sequence));
}

/** A message announces a grant; it may arrive at any later time (R9). */
export function applyMessage(line: Line, grant: PresentGrant): void {
  if (grant.first > line.finished) present(line, grant);
}

/** Redis reports that this grant was taken away. */
export function revoke(line: Line, first: number): void {
  if (line.run?.first === first) lose(line, line.run, 'it was released by force');
  else if (line.confirming?.first === first) finish(line, line.confirming);
  // The reply with this grant comes by another connection and may arrive later: the grant must not be entered then.
  else line.finished = Math.max(line.finished, first);
}

/** The grant was over before this client could enter it: its requests ask anew, for a higher token. */
export function dropLate(line: Line, late: PresentGrant): void {
  line.late = undefined;
  line.finished = Math.max(line.finished, late.first);
  for (const sequence of late.run) missedGrant(line, line.waiting.get(sequence));
}

function present(line: Line, grant: PresentGrant): void {
  const { late } = line;
  if (late && grant.first < late.first) return;
  // Redis has made a newer grant, so the one that came too late is over, and no heartbeat will report it.
  if (late && grant.first > late.first) dropLate(line, late);
  if (line.run) {
    if (grant.first <= line.run.first) return;
    lose(line, line.run, 'Redis gave the lock to another request before this one was released');
  }
  const { confirming } = line;
  if (confirming) {
    // R10: no member waits any more, so the grant is handed on even before it is confirmed.
    const unwanted = grant.first === confirming.first && unserved(confirming).length === 0;
    if (grant.first > confirming.first || unwanted) finish(line, confirming);
    if (grant.first <= confirming.first) return;
  }
  enter(line, grant);
}

function enter(line: Line, grant: PresentGrant): void {
  const run = newRun(line, grant);
  const wanted = unserved(run).length > 0;
  if (wanted && grant.first <= line.seenBefore) {
    // The server lost the last token, and its clock is behind that token. The requests ask for a higher token.
    finish(line, run);
  } else if (wanted && line.lostButRunning && line.now.monotonic < line.lostButRunning.stopBy) {
    // The section that lost the lock may still run. A heartbeat asks for this grant after that, and its reply comes here again (M1).
    const { stopBy } = line.lostButRunning;
    line.nextBeat = Math.min(line.nextBeat || stopBy, stopBy);
    line.late = grant;
  } else if (wanted && line.settings.replicated) {
    line.late = undefined;
    confirm(line, run);
  } else if (wanted && remaining(line, run) <= 0) {
    // Less than the margin is left of the lease. A heartbeat renews it, and its reply comes here again (M1).
    // If even that reply is too old, a clock of this host was set while it was on its way, or the lease is tiny: pause before the next.
    const pause = line.late?.first === grant.first ? LATE_PAUSE : 0;
    line.nextBeat = Math.min(line.nextBeat || Infinity, line.now.monotonic + pause);
    line.late = grant;
  } else {
    line.late = undefined;
    line.run = run;
    handOn(line, run);
  }
}

/**
 * Sends a renewal that replicas confirm, however the grant was announced: it comes after the grant in the order of
 * replication. Until then the grant is not held (docs/replication.md).
 */
export function confirm(line: Line, run: Run): void {
  line.confirming = run;
  line.send({ kind: 'confirm', args: heartbeatArgs(line, renewalOf(run)), run });
}

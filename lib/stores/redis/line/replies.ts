import type { AcquireReply, HeartbeatReply, JoinReply, LeaveReply, LockReply } from '../commands/reply.js';
import type { Blocker, Failure } from '../../redis-client/line-machine.js';
import type { Command, Replicated, ReplicatedReply, Reply } from './events.js';
import { applyGrant, applyLateRenewal, applyRenewal, finish, handOn } from './grant.js';
import { heartbeatFailed, markedAlive, queuedBehind } from './heartbeat.js';
import {
  acknowledge,
  applyGeneration,
  mustRequest,
  reportPlace,
  requestAgain,
  requestPlace,
} from './requests.js';
import type { PlaceRequest, Run } from './model.js';
import { isPresent, renew, skipMember } from './run.js';
import type { Line } from './state.js';

/** For so long (ms) a try asks again where the lock is free and only requests of unreachable clients are in line. */
const LONGEST_TRY = 500;
/** Pause before a request that is in line asks again for a place that is not confirmed, ms. */
const RETRY_PAUSE = 100;

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

/** A command was answered. */
export function answered(line: Line, command: Command, reply: Reply): void {
  switch (command.kind) {
    case 'acquire':
      applyPlaceReply(line, [command.request], reply as AcquireReply);
      break;
    case 'join':
      applyPlaceReply(line, command.requests, reply as JoinReply);
      break;
    case 'release':
      line.releasedAfter = Math.max(line.releasedAfter, reply.order - 1);
      line.releasing -= 1;
      line.acknowledged(command.ended);
      applyReply(line, reply);
      break;
    case 'leave':
      applyReply(line, reply);
      line.left(command.request, reply.order, blockerOf(reply as LeaveReply));
      break;
    case 'heartbeat':
      heartbeat(line, command, reply as ReplicatedReply);
      break;
    case 'confirm':
      confirmed(line, command.run, reply as ReplicatedReply);
  }
}

/** A command failed for good. */
export function failed(line: Line, command: Command, failure: Failure): void {
  switch (command.kind) {
    case 'acquire':
      placeRequestFailed(line, command.request, failure);
      break;
    case 'join':
      for (const request of command.requests) placeRequestFailed(line, request, failure);
      break;
    case 'release':
      // The lease ends the grant.
      line.releasing -= 1;
      line.acknowledged(command.ended);
      break;
    case 'leave':
      // The liveness window puts it out.
      line.left(command.request, undefined);
      break;
    case 'heartbeat':
      heartbeatFailed(line, command.run, failure.retryAfter);
      break;
    case 'confirm':
      notConfirmed(line, command.run, undefined);
  }
}

/** A renewal was answered that replicas need not have yet: it renews nothing here, but the common part of the reply applies. */
export function written(line: Line, command: Command, reply: HeartbeatReply): void {
  if (command.kind === 'heartbeat') {
    applyHeartbeat(line, command, reply, reply.status === 'gone');
  } else if (command.kind === 'confirm') {
    if (command.args.waiting && reply.status !== 'expired') markedAlive(line, reply);
    applyReply(line, reply);
  }
}

// ---- asking for places -----------------------------------------------------------------------------------------------

function applyPlaceReply(
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
  // Before the place is reported to the caller: the reply may contain the grant.
  applyReply(line, reply);
  for (const [index, request] of requests.entries()) {
    if (reply.status === 'queued') settlePlace(line, request, reply, reply.ahead + index);
    // To a join that was repeated: each asks for itself.
    else if (reply.status === 'known') requestPlace(line, request);
    // A newer grant came first: the server has lost this one with its data.
    else if (reply.status === 'granted' && !isPresent(line, request)) requestAgain(line, request);
  }
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
  // It is in line although it has left before this command ran.
  if (request.state === 'refused' && order > request.leftAfter) line.leave(request);
  else reportPlace(line, request, ahead);
}

function busy(
  line: Line,
  request: PlaceRequest,
  { mustRetry, wake, blocker }: LockReply & { readonly blocker: Blocker },
): void {
  const { now, settings } = line;
  // Free, but the clients in line are unreachable: whether they are dead is known when the grace period is over (R6).
  const soon = mustRetry && wake <= settings.timing.grace && now.monotonic - request.since < LONGEST_TRY;
  if (soon) line.remind({ at: now.monotonic + wake + 1, what: 'request place', request });
  else line.refuse(request, { why: 'busy', blocker });
}

function placeRequestFailed(line: Line, request: PlaceRequest, { retriable, effect, error }: Failure): void {
  request.requesting = false;
  if (request.state !== 'waiting') return;
  if (request.ticket > 0 && retriable) {
    // In line already: it survives the outage until its wait time ends.
    line.remind({ at: line.now.monotonic + RETRY_PAUSE, what: 'request place', request });
    return;
  }
  line.refuse(request, { why: 'error', error });
  if (effect === 'unknown') line.leave(request);
}

/** Who was in the way of a request that left. */
function blockerOf({ blocker, ahead }: LeaveReply): Blocker {
  return { ...blocker, ...(ahead >= 0 && { ahead }) };
}

// ---- heartbeats ------------------------------------------------------------------------------------------------------

type HeartbeatCommand = Extract<Command, { readonly kind: 'heartbeat' }>;

function heartbeat(line: Line, command: HeartbeatCommand, reply: ReplicatedReply): void {
  line.beating = false;
  const { replicated } = reply;
  if (!replicated) return applyHeartbeat(line, command, reply, true);
  // The rest was applied when the write was answered.
  if (reply.status !== 'renewed') return;
  if (!replicated.enough) heartbeatFailed(line, command.run);
  else if (command.run) applyRenewal(line, command.run, reply);
}

/** @param counts whether it renews what is held */
function applyHeartbeat(line: Line, command: HeartbeatCommand, reply: HeartbeatReply, counts: boolean): void {
  const { run, late, args } = command;
  if (reply.status === 'expired') {
    // The server's clock was set: now it is known, and asking again works (R2).
    line.nextBeat = line.now.monotonic + 1;
    applyReply(line, reply);
    return;
  }
  if (args.waiting) markedAlive(line, reply);
  if (run && counts) applyRenewal(line, run, reply);
  applyReply(line, reply);
  if (late) applyLateRenewal(line, late, reply);
}

// ---- replicas --------------------------------------------------------------------------------------------------------

/** If enough replicas have the grant it is held. If not, its first request is refused, and the others go back in line. */
function confirmed(line: Line, run: Run, reply: ReplicatedReply): void {
  if (line.confirming !== run) return;
  const { grant, status, replicated } = reply;
  if (!replicated?.enough || status !== 'renewed' || !grant) {
    notConfirmed(line, run, replicated, status === 'gone');
    return;
  }
  line.confirming = undefined;
  line.run = run;
  renew(line, run, grant.since, grant.left);
  handOn(line, run);
}

function notConfirmed(line: Line, run: Run, replicated: Replicated | undefined, gone = false): void {
  if (line.confirming !== run) return;
  line.confirming = undefined;
  const first = gone ? undefined : skipMember(run);
  if (first) {
    line.refuse(first, { why: 'not replicated', replicated });
    line.leaveAfterLateCommands(first);
  }
  finish(line, run);
}

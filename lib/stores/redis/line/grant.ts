import type { FinishedGrant } from '../commands/arguments.js';
import type { HeartbeatReply, PresentGrant } from '../commands/reply.js';
import { heartbeatArgs, markAliveWithRelease } from './heartbeat.js';
import type { Run } from './model.js';
import { requestAgain, missedGrant, served } from './requests.js';
import {
  covers,
  finishedGrant,
  newRun,
  remaining,
  renew,
  renewalOf,
  serverLeft,
  grantNextMember,
  unserved,
} from './run.js';
import type { Line } from './state.js';

const RAN_OUT = 'its lease ran out before it could be renewed';

/** The reply to the command of that order contains a grant of this client. */
export function applyGrant(line: Line, grant: PresentGrant, order: number): void {
  if (grant.first > line.finished) return present(line, grant);
  // From before its release, or while that is still under way: nothing new.
  const old = line.releasing > 0 || order <= line.releasedAfter;
  if (old || grant.first === line.lapsing?.run.first) return;
  // M8: over for this client, so it is released again; those that still wait in it ask anew behind that.
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
  // The reply that brings it comes by another connection, and is still to come: it must not be entered then.
  else line.finished = Math.max(line.finished, first);
}

/** The reply to a heartbeat that was sent while `run` was the present one; it touches no other (M2). */
export function applyRenewal(line: Line, run: Run, reply: HeartbeatReply): void {
  if (line.run !== run) return;
  const { status, grant } = reply;
  if (status === 'renewed' && grant) renew(line, run, grant.since, grant.left);
  // Also where it was not to be renewed.
  if (status === 'gone' && grant?.first !== run.first) {
    lose(
      line,
      run,
      'Redis no longer has this grant (it expired, was released by force, or its data was lost)',
    );
  }
}

/** A heartbeat that named the grant that came too late was answered without it: it is over. */
export function applyLateRenewal(line: Line, late: PresentGrant, reply: HeartbeatReply): void {
  if (line.late === late && reply.grant?.first !== late.first) dropLate(line, late);
}

/** The lease may have run out by the local clocks (R12). */
export function lookAtLease(line: Line): void {
  if (line.run && remaining(line, line.run) <= 0) lose(line, line.run, RAN_OUT);
  if (line.lapsing && line.lapsing.until <= line.now.monotonic) line.lapsing = undefined;
}

/** The holder found its lease over before this line did. */
export function leaseLost(line: Line, token: number): void {
  if (line.run?.holder?.token === token) lost(line, line.run);
}

/** The section of a holder has ended. */
export function endSection(line: Line, token: number, kept: boolean): void {
  const { run, lapsing } = line;
  if (run?.holder?.token === token && kept) {
    // What is left of a lease that was not renewed any more may be too short for the next, who gets a whole one.
    if (run.holder.renewable) handOn(line, run, token);
    else finish(line, run, token);
  } else if (lapsing && covers(lapsing.run, token)) {
    line.lapsing = undefined;
    release(line, finishedGrant(lapsing.run, []), token);
  } else {
    line.effects.push({ type: 'released', grant: token });
  }
}

/** Gives back what is held: the client closes. */
export function giveBack(line: Line): void {
  const run = line.run ?? line.confirming;
  if (!run) return;
  if (run.holder) line.effects.push({ type: 'end lease', grant: run.holder.token });
  finish(line, run);
}

/** Lets the next member of the run hold the lock; releases it when none is left (R10). */
export function handOn(line: Line, run: Run, ended?: number): void {
  const holder = remaining(line, run) > 0 ? grantNextMember(line, run) : undefined;
  if (!holder) return finish(line, run, ended);
  const { request, token } = holder;
  served(line, request);
  line.effects.push({
    type: 'grant',
    request: request.sequence,
    grant: token,
    since: run.since,
    left: run.left,
  });
  if (ended !== undefined) line.effects.push({ type: 'released', grant: ended });
}

/**
 * The grant ends here, and then on the server, which puts members that had no turn back into their places; they ask
 * for them all the same, should that command be lost (M7).
 *
 * @param ended token of the section whose end this is
 */
export function finish(line: Line, run: Run, ended?: number): void {
  line.run = undefined;
  line.confirming = undefined;
  line.finished = Math.max(line.finished, run.first);
  const left = unserved(run);
  release(line, finishedGrant(run, left), ended);
  const tooLate = remaining(line, run) <= 0;
  for (const request of left) {
    if (tooLate) missedGrant(line, request);
    else requestAgain(line, request);
  }
}

function present(line: Line, grant: PresentGrant): void {
  const { late } = line;
  if (late && grant.first < late.first) return;
  // Redis has granted anew, so the one that came too late is over, and no heartbeat will report it.
  if (late && grant.first > late.first) dropLate(line, late);
  if (line.run) {
    if (grant.first <= line.run.first) return;
    lose(line, line.run, 'Redis gave the lock to another request before this one was released');
  }
  const { confirming } = line;
  if (confirming) {
    // R10, before it is even confirmed.
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
    // Of a server that lost the last token and whose clock is behind it. The requests ask for a higher one.
    finish(line, run);
  } else if (wanted && line.settings.replicated) {
    confirm(line, run);
  } else if (wanted && remaining(line, run) <= 0) {
    // Nothing left beyond the margin: a heartbeat renews it, and its reply comes here again (M1).
    if (line.late?.first !== grant.first) line.nextBeat = line.now.monotonic;
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
function confirm(line: Line, run: Run): void {
  line.confirming = run;
  line.send({ kind: 'confirm', args: heartbeatArgs(line, renewalOf(run)), run });
}

/** The grant was over before this client could enter it: the requests in it ask anew, for a higher token. */
function dropLate(line: Line, late: PresentGrant): void {
  line.late = undefined;
  line.finished = Math.max(line.finished, late.first);
  for (const sequence of late.run) missedGrant(line, line.waiting.get(sequence));
}

function lose(line: Line, run: Run, why: string): void {
  if (run.holder) line.effects.push({ type: 'lose lease', grant: run.holder.token, why });
  lost(line, run);
}

/**
 * The holder has been notified. The margin of the lease is the time in which it must stop, so the grant is not released before
 * it does, or the lease ends; but others of the run have waited long enough, and ask anew (M7).
 */
function lost(line: Line, run: Run): void {
  if (unserved(run).length > 0) return finish(line, run);
  line.run = undefined;
  line.finished = Math.max(line.finished, run.first);
  line.lapsing = { run, until: line.now.monotonic + serverLeft(line, run) };
}

/** @param ended token of the section that waits for the acknowledgement, no longer than for the command deadline */
function release(line: Line, grant: FinishedGrant, ended?: number): void {
  const markAlive = markAliveWithRelease(line);
  line.releasing += 1;
  line.releasedAfter = line.now.order;
  line.send({ kind: 'release', grant, markAlive, ended });
  if (ended === undefined) return;
  line.acknowledgeBy(line.now.monotonic + line.settings.timing.commandTimeout, ended);
}

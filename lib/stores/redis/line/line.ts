import type { Failure, Moment } from '../../redis-client/line/line-machine.js';
import type { AcquireReply, JoinReply, LeaveReply } from '../commands/reply.js';
import type { Command, Effect, LineEvent, ReplicatedReply, Reply } from './events.js';
import {
  endSection,
  giveBack,
  giveLostBack,
  leaseLost,
  lostUntil,
  remaining,
  reportDue,
  runOut,
  wantsRenewal,
} from './grant.js';
import {
  beat,
  beatNow,
  confirmed,
  heartbeatAnswered,
  heartbeatFailed,
  notConfirmed,
  written,
} from './heartbeat.js';
import { applyMessage, applyPlaceReply, applyReply, blockerOf, revoke } from './replies.js';
import * as requests from './requests.js';
import type { Line } from './state.js';

/**
 * The state machine of one lock in this client: its requests in line, the grant it holds, and the heartbeat for both. Applies an
 * event at a moment, and returns the effects to execute, in order.
 *
 * It stays correct when replies and messages are lost, repeated or reordered (R9).
 */
export function handle(line: Line, event: LineEvent, now: Moment): readonly Effect[] {
  line.now = now;
  line.effects = [];
  // The section released its lease before this event, so the lease is not checked then.
  if (event.type !== 'section ended') lookAtLease(line);
  apply(line, event);
  arrange(line);
  return line.effects;
}

function apply(line: Line, event: LineEvent): void {
  switch (event.type) {
    case 'requested':
      return requests.request(line, event.request);
    case 'turn ended':
      return requests.admitNewcomers(line);
    case 'cancelled':
      return line.cancel(event.request, event.why);
    case 'section ended':
      return endSection(line, event.grant, event.kept, event.keep);
    case 'lease lost':
      return leaseLost(line, event.grant);
    case 'renewing stopped':
      return stopRenewing(line, event.grant);
    case 'reply':
      line.underWay -= 1;
      return answered(line, event.command, event.reply);
    case 'failed':
      line.underWay -= 1;
      return failed(line, event.command, event.failure);
    case 'written':
      return written(line, event.command, event.reply);
    case 'granted':
      return applyMessage(line, event.grant);
    case 'revoked':
      return revoke(line, event.first);
    case 'subscription':
      line.subscribedSince = event.upSince;
      return beatNow(line);
    case 'look':
      return beatNow(line);
    case 'server':
      return keptBy(line, event.id);
    case 'due':
      return due(line);
    case 'refused':
      return line.refuseAll({ why: 'error', error: event.error });
    case 'closing':
      line.close();
      return giveBack(line);
  }
}

/** A command was answered. */
function answered(line: Line, command: Command, reply: Reply): void {
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
      heartbeatAnswered(line, command, reply as ReplicatedReply);
      break;
    case 'confirm':
      confirmed(line, command.run, reply as ReplicatedReply);
  }
}

/** A command failed for good. */
function failed(line: Line, command: Command, failure: Failure): void {
  switch (command.kind) {
    case 'acquire':
      line.placeRequestFailed(command.request, command.request.ticket > 0, failure);
      break;
    case 'join':
      for (const request of command.requests) line.placeRequestFailed(request, request.ticket > 0, failure);
      break;
    case 'release':
      // The release failed, so the grant ends with its lease on the server.
      line.releasing -= 1;
      line.acknowledged(command.ended);
      break;
    case 'leave':
      // The server drops the request when the liveness window is over.
      line.left(command.request, undefined);
      break;
    case 'heartbeat':
      heartbeatFailed(line, command.run, failure.retryAfter);
      break;
    case 'confirm':
      notConfirmed(line, command.run, undefined);
  }
}

/** Loses the lease if it has run out by the local clocks (R12). */
function lookAtLease(line: Line): void {
  const { run, now } = line;
  if (run && remaining(line, run) <= 0) runOut(line, run);
  const { lostButRunning } = line;
  if (lostButRunning && lostUntil(lostButRunning) <= now.monotonic) giveLostBack(line, lostButRunning.run);
}

function stopRenewing(line: Line, token: number): void {
  if (line.run?.holder?.token === token) line.run.holder.renewable = false;
}

/** If another primary keeps the lock now, or the same one promoted again, all requests ask again: it may not know them (M6). */
function keptBy(line: Line, server: string | undefined): void {
  if (server === undefined || server === line.server) return;
  line.server = server;
  line.markedAliveAt = -Infinity;
  requests.requestAllAgain(line);
  beatNow(line);
}

function due(line: Line): void {
  line.doReminders((request) => requests.requestPlace(line, request));
  beatIfDue(line);
}

/** Sets the wake-up time; forgets the line if nothing is left of it. */
function arrange(line: Line): void {
  const at = nextWakeUp(line);
  line.wakeUp(at);
  if (line.underWay > 0 || line.waiting.size > 0) return;
  if (line.closing && !line.reminders.some(({ what }) => what === 'leave')) {
    line.effects.push({ type: 'closed' });
  } else if (at === Infinity) {
    line.effects.push({ type: 'forget' });
  }
}

/** When the line next has something to do; Infinity: only when something happens to it. */
function nextWakeUp(line: Line): number {
  const { run, lostButRunning, reminders, beating } = line;
  const time = line.now.monotonic;
  // The line must wake up when the lease ends, since only `lookAtLease` makes it lost (R12).
  const left = run ? Math.max(0, remaining(line, run)) : Infinity;
  // Keep the line while a section may still give back a lost grant: otherwise a new line of the same lock would get that release.
  let due = Math.min(
    time + left,
    lostButRunning ? lostUntil(lostButRunning) : Infinity,
    reminders[0]?.at ?? Infinity,
  );
  if (beating) return due;
  due = Math.min(due, lookDue(line));
  if (isPeriodic(line)) {
    if (line.nextBeat === 0) line.nextBeat = time + line.settings.timing.heartbeat;
    // The client that passed the lock on chose the first lease, which may be shorter than the heartbeat of this client expects.
    if (run?.holder?.renewable && wantsRenewal(run)) line.nextBeat = Math.min(line.nextBeat, time + left / 2);
    due = Math.min(due, line.nextBeat, run ? reportDue(line, run) : Infinity);
  }
  return due;
}

/** Sends the heartbeat if it is time. */
function beatIfDue(line: Line): void {
  if (line.beating) return;
  const report = line.run ? reportDue(line, line.run) : Infinity;
  const periodic = isPeriodic(line) ? Math.min(line.nextBeat, report) : Infinity;
  if (line.now.monotonic >= Math.min(periodic, lookDue(line))) beat(line);
}

/** Whether there is something to keep: a grant or a place in line. */
function isPeriodic(line: Line): boolean {
  const { run, late } = line;
  return isInLine(line) || late !== undefined || (run !== undefined && wantsRenewal(run));
}

/** When to ask whether the lock is free: when the lease of the present holder must have ended (R9), or at the server's time (R8). */
function lookDue(line: Line): number {
  return isInLine(line) || line.mustRetry ? line.wakeAt : Infinity;
}

/** Whether waiting requests need heartbeats. Before the first reply they do only if a message may have been missed (`beatNow`). */
function isInLine(line: Line): boolean {
  return line.waiting.size > 0 && (line.newest > 0 || line.nextBeat > 0);
}

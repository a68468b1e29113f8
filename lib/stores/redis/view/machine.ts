import type { Failure, Moment } from '../../redis-client/view/protocol-types.js';
import type { AcquireReply, JoinReply, LeaveReply } from '../commands/reply.js';
import type { Command, Effect, ViewEvent, ReplicatedReply, Reply } from './events.js';
import {
  endSection,
  giveBack,
  giveLostBack,
  leaseLost,
  lostUntil,
  reportDue,
  runOut,
  wantsRenewal,
} from './grant.js';
import { isShared } from './model.js';
import {
  beat,
  beatNow,
  confirmed,
  heartbeatAnswered,
  heartbeatFailed,
  notConfirmed,
  stopRenewing,
  written,
} from './heartbeat.js';
import { remaining } from './lease.js';
import { applyMessage, applyPlaceReply, applyReply, blockerOf, revoke } from './replies.js';
import * as requests from './requests.js';
import { applyShares, revokeShare } from './shared.js';
import { endSharedSection, giveSharesBack, sharesEnded } from './shared-end.js';
import { lookAtShares, shareLost, sharesDue, stopRenewingShare } from './shared-lease.js';
import type { LockView } from './lock-view.js';

/**
 * The state machine of one lock in this client: its requests in line, the grant it holds, and the heartbeat for both. Applies an
 * event at a moment, and returns the effects to execute, in order.
 *
 * It stays correct when replies and messages are lost, repeated or reordered (R9).
 */
export function handle(view: LockView, event: ViewEvent, now: Moment): readonly Effect[] {
  view.now = now;
  view.effects = [];
  // The section released its lease before this event, so the lease is not checked then.
  if (event.type !== 'section ended') lookAtLease(view);
  apply(view, event);
  arrange(view);
  return view.effects;
}

function apply(view: LockView, event: ViewEvent): void {
  switch (event.type) {
    case 'requested':
      return requests.request(view, event.request);
    case 'turn ended':
      return requests.admitNewcomers(view);
    case 'cancelled':
      return view.cancel(event.request, event.why);
    case 'section ended':
      return isShared(event.grant)
        ? endSharedSection(view, event.grant, event.kept, event.keep)
        : endSection(view, event.grant, event.kept, event.keep);
    case 'lease lost':
      return isShared(event.grant) ? shareLost(view, event.grant) : leaseLost(view, event.grant);
    case 'renewing stopped':
      return isShared(event.grant) ? stopRenewingShare(view, event.grant) : stopRenewing(view, event.grant);
    case 'reply':
      view.underWay -= 1;
      return answered(view, event.command, event.reply);
    case 'failed':
      view.underWay -= 1;
      return failed(view, event.command, event.failure);
    case 'written':
      return written(view, event.command, event.reply);
    case 'granted':
      return applyMessage(view, event.grant);
    case 'revoked':
      return revoke(view, event.first);
    case 'shared':
      return applyShares(view, event.shares);
    case 'share revoked':
      return revokeShare(view, event.share);
    case 'subscription':
      view.subscribedSince = event.upSince;
      return beatNow(view);
    case 'look':
      return beatNow(view);
    case 'server':
      return keptBy(view, event.id);
    case 'due':
      return due(view);
    case 'refused':
      return view.refuseAll({ why: 'error', error: event.error });
    case 'closing':
      view.close();
      giveSharesBack(view);
      return giveBack(view);
  }
}

/** A command was answered. */
function answered(view: LockView, command: Command, reply: Reply): void {
  switch (command.kind) {
    case 'acquire':
      applyPlaceReply(view, [command.request], reply as AcquireReply);
      break;
    case 'join':
      applyPlaceReply(view, command.requests, reply as JoinReply);
      break;
    case 'release':
      view.releasedAfter = Math.max(view.releasedAfter, reply.order - 1);
      view.releasing -= 1;
      view.acknowledged(command.ended);
      applyReply(view, reply);
      break;
    case 'end shares':
      sharesEnded(view, command, reply);
      return applyReply(view, reply);
    case 'leave':
      view.ending.delete(command.request.sequence);
      applyReply(view, reply);
      view.left(command.request, reply.order, blockerOf(reply as LeaveReply));
      break;
    case 'heartbeat':
      heartbeatAnswered(view, command, reply as ReplicatedReply);
      break;
    case 'confirm':
      confirmed(view, command.batch, reply as ReplicatedReply);
  }
}

/** A command failed for good. */
function failed(view: LockView, command: Command, failure: Failure): void {
  switch (command.kind) {
    case 'acquire':
      view.placeRequestFailed(command.request, command.request.ticket > 0, failure);
      break;
    case 'join':
      for (const request of command.requests) view.placeRequestFailed(request, request.ticket > 0, failure);
      break;
    case 'release':
      // The release failed, so the grant ends with its lease on the server.
      view.releasing -= 1;
      view.acknowledged(command.ended);
      break;
    case 'end shares':
      return sharesEnded(view, command);
    case 'leave':
      view.ending.delete(command.request.sequence);
      // The server drops the request when the liveness window is over.
      view.left(command.request, undefined);
      break;
    case 'heartbeat':
      heartbeatFailed(view, command.batch, failure.retryAfter);
      break;
    case 'confirm':
      notConfirmed(view, command.batch, undefined);
  }
}

/** Loses the lease if it has run out by the local clocks (R12). */
function lookAtLease(view: LockView): void {
  const { batch, now } = view;
  if (batch && remaining(view, batch) <= 0) runOut(view, batch);
  const { lostButRunning } = view;
  if (lostButRunning && lostUntil(lostButRunning) <= now.monotonic) giveLostBack(view, lostButRunning.batch);
  lookAtShares(view);
}

/** If another primary keeps the lock now, or the same one promoted again, all requests ask again: it may not know them (M6). */
function keptBy(view: LockView, server: string | undefined): void {
  if (server === undefined || server === view.server) return;
  view.server = server;
  view.markedAliveAt = -Infinity;
  requests.requestAllAgain(view);
  beatNow(view);
}

function due(view: LockView): void {
  view.doReminders((request) => requests.requestPlace(view, request));
  beatIfDue(view);
}

/** Sets the wake-up time; forgets the view if nothing is left of it. */
function arrange(view: LockView): void {
  const at = nextWakeUp(view);
  view.wakeUp(at);
  if (view.underWay > 0 || view.waiting.size > 0) return;
  if (view.closing && !view.reminders.some(({ what }) => what === 'leave')) {
    view.effects.push({ type: 'closed' });
  } else if (at === Infinity) {
    view.effects.push({ type: 'forget' });
  }
}

/** When the view next has something to do; Infinity: only when something happens to it. */
function nextWakeUp(view: LockView): number {
  const { batch, lostButRunning, reminders, beating } = view;
  const time = view.now.monotonic;
  // The view must wake up when the lease ends, since only `lookAtLease` makes it lost (R12).
  const left = batch ? Math.max(0, remaining(view, batch)) : Infinity;
  // Keep the view while a section may still give back a lost grant: otherwise a new view of the same lock would get that release.
  let due = Math.min(
    time + left,
    lostButRunning ? lostUntil(lostButRunning) : Infinity,
    sharesDue(view),
    reminders[0]?.at ?? Infinity,
  );
  if (beating) return due;
  due = Math.min(due, lookDue(view));
  if (isPeriodic(view)) {
    if (view.nextBeat === 0) view.nextBeat = time + view.settings.timing.heartbeat;
    // The client that passed the lock on chose the first lease, which may be shorter than the heartbeat of this client expects.
    if (batch?.holder?.renewable && wantsRenewal(batch))
      view.nextBeat = Math.min(view.nextBeat, time + left / 2);
    due = Math.min(due, view.nextBeat, batch ? reportDue(view, batch) : Infinity);
  }
  return due;
}

/** Sends the heartbeat if it is time. */
function beatIfDue(view: LockView): void {
  if (view.beating) return;
  const report = view.batch ? reportDue(view, view.batch) : Infinity;
  const periodic = isPeriodic(view) ? Math.min(view.nextBeat, report) : Infinity;
  if (view.now.monotonic >= Math.min(periodic, lookDue(view))) beat(view);
}

/** Whether there is something to keep: a grant or a place in line. */
function isPeriodic(view: LockView): boolean {
  const { batch, late } = view;
  const isShared = view.shares.size > 0 || view.lateShares.size > 0;
  return isInLine(view) || isShared || late !== undefined || (batch !== undefined && wantsRenewal(batch));
}

/** When to ask whether the lock is free: when the lease of the present holder must have ended (R9), or at the server's time (R8). */
function lookDue(view: LockView): number {
  return isInLine(view) || view.mustRetry ? view.wakeAt : Infinity;
}

/** Whether waiting requests need heartbeats. Before the first reply they do only if a message may have been missed (`beatNow`). */
function isInLine(view: LockView): boolean {
  return view.waiting.size > 0 && (view.newest > 0 || view.nextBeat > 0);
}

import type { Renewal } from '../commands/arguments.js';
import type { HeartbeatReply, PresentGrant } from '../commands/reply.js';
import type { Command, Replicated, ReplicatedReply } from './events.js';
import { finish, handOn, lose, renewalOf, unserved, wantsRenewal } from './grant.js';
import { cameLate, isOverByWallClock, renew } from './lease.js';
import type { PlaceRequest, Batch } from './model.js';
import { applyReply, confirm, dropLate } from './replies.js';
import { heartbeatArgs, markedAlive } from './requests.js';
import { confirmShares } from './shared.js';
import { renewalOfShares, suspectShares } from './shared-lease.js';
import type { LockView } from './lock-view.js';

/** Pause before a heartbeat is repeated that replicas did not confirm, ms. */
const RETRY_PAUSE = 100;

/** A message may have been missed: sends a heartbeat at once, whose reply contains the present grant and generation. */
export function beatNow(view: LockView): void {
  view.nextBeat = view.now.monotonic;
}

/** The heartbeat got no reply, or replicas are not known to have its renewal. */
export function heartbeatFailed(view: LockView, batch: Batch | undefined, pause = RETRY_PAUSE): void {
  view.beating = false;
  if (batch?.holder) view.effects.push({ type: 'suspect lease', grant: batch.holder.token });
  suspectShares(view);
  view.nextBeat = Math.min(view.nextBeat, view.now.monotonic + pause);
}

export function stopRenewing(view: LockView, token: number): void {
  if (view.batch?.holder?.token === token) view.batch.holder.renewable = false;
}

/** Sends the one command of a heartbeat period: it renews what this client holds of the lock, and keeps the places of all that wait. */
export function beat(view: LockView): void {
  view.beating = true;
  view.nextBeat = view.now.monotonic + view.settings.timing.heartbeat;
  view.wakeAt = Infinity;
  view.mustRetry = false;
  const { batch, late } = view;
  const renewing = batch?.holder?.renewable === true && wantsRenewal(batch);
  const present = batch ? renewalOf(batch) : renewalOfShares(view);
  const named = present && (renewing || !batch) ? present : lateRenewal(view);
  const { label = '', served = 0 } = present ?? {};
  const args = heartbeatArgs(view, { ...named, label, served });
  // This heartbeat tells Redis who the present holder is.
  if (renewing) batch.reported = batch.next;
  const replicate = renewing && view.settings.replicated;
  view.send({ kind: 'heartbeat', args, replicate, batch, late });
}

/** Names the grant that came too late, if there is one (M1). */
function lateRenewal({ late, waiting }: LockView): Omit<Renewal, 'label' | 'served'> {
  const leaseTime = waiting.get(late?.batch[0] ?? 0)?.leaseTime;
  return { first: late?.first ?? 0, batch: late?.batch ?? [], leaseTime };
}

// ---- replies ---------------------------------------------------------------------------------------------------------

type HeartbeatCommand = Extract<Command, { readonly kind: 'heartbeat' }>;

export function heartbeatAnswered(view: LockView, command: HeartbeatCommand, reply: ReplicatedReply): void {
  view.beating = false;
  const { replicated } = reply;
  if (!replicated) return applyHeartbeat(view, command, reply, true);
  // The rest of the reply was applied when the write was answered (see `written`).
  if (reply.status !== 'renewed') return;
  if (!replicated.enough) heartbeatFailed(view, command.batch);
  else if (command.batch) applyRenewal(view, command.batch, reply);
}

/** @param counts whether the reply may renew the lease on this side */
function applyHeartbeat(
  view: LockView,
  command: HeartbeatCommand,
  reply: HeartbeatReply,
  counts: boolean,
): void {
  const { batch, late, args } = command;
  if (reply.status === 'expired') {
    // The server's clock was set. This reply has told the new time, so a repeated heartbeat works (R2).
    view.nextBeat = view.now.monotonic + 1;
    applyReply(view, reply);
    return;
  }
  if (args.waiting) markedAlive(view, reply);
  if (batch && counts) applyRenewal(view, batch, reply);
  confirmShares(view, reply, () => applyReply(view, reply));
  if (late) applyLateRenewal(view, late, reply);
}

/** The reply to a heartbeat that was sent while `batch` was the present one; it touches no other (M2). */
function applyRenewal(view: LockView, batch: Batch, reply: HeartbeatReply): void {
  if (view.batch !== batch) return;
  const { status, grant } = reply;
  const isLate = grant && cameLate(view, grant);
  if (status === 'renewed') {
    if (isLate) view.nextBeat = view.now.monotonic;
    else if (grant) renewBatch(view, batch, grant);
  } else if (grant?.first !== batch.first) {
    // This check also applies to a heartbeat that did not renew the grant.
    lose(
      view,
      batch,
      'Redis no longer has this grant (it expired, was released by force, or its data was lost)',
    );
  } else if (!isLate && !view.settings.replicated) prolong(view, batch, grant);
}

/** A heartbeat has asked about the grant that came too late. If its reply does not contain the grant, the grant is over. */
function applyLateRenewal(view: LockView, late: PresentGrant, reply: HeartbeatReply): void {
  if (view.late === late && reply.grant?.first !== late.first) dropLate(view, late);
}

/** Redis has renewed the grant (M1, M2). */
function renewBatch(view: LockView, batch: Batch, grant: PresentGrant): void {
  prolong(view, batch, grant);
  batch.confirmed = true;
}

/** Redis has told how much of the lease is left; a message, whose age is only estimated, may have promised less. */
function prolong(view: LockView, batch: Batch, { since, left }: PresentGrant): void {
  renew(view, batch, batch.holder?.token, { since, left, leaseTime: batch.leaseTime });
}

// ---- replicas --------------------------------------------------------------------------------------------------------

/** A renewal was answered, but replicas may not have it yet: applies the common part of the reply, and renews nothing here. */
export function written(view: LockView, command: Command, reply: HeartbeatReply): void {
  if (command.kind === 'heartbeat') {
    applyHeartbeat(view, command, reply, reply.status === 'gone');
  } else if (command.kind === 'confirm') {
    if (command.args.waiting && reply.status !== 'expired') markedAlive(view, reply);
    applyReply(view, reply);
  }
}

/** Enters the grant if enough replicas have it. If not, refuses its first request and puts the others back in line. */
export function confirmed(view: LockView, batch: Batch, reply: ReplicatedReply): void {
  if (view.confirming !== batch) return;
  const { grant, status, replicated } = reply;
  if (!replicated?.enough || status !== 'renewed' || !grant) {
    notConfirmed(view, batch, replicated, status === 'gone');
    return;
  }
  renewBatch(view, batch, grant);
  // Another renewal, sent by the present clock, tells what is left. A release would cost its request the place.
  if (isOverByWallClock(view, batch)) return confirm(view, batch);
  view.confirming = undefined;
  view.batch = batch;
  // The lease counts from the sending of this renewal, and so does the next one: replicas may have used up much of it.
  view.nextBeat = Math.min(view.nextBeat, grant.since.monotonic + view.settings.timing.heartbeat);
  handOn(view, batch);
}

export function notConfirmed(
  view: LockView,
  batch: Batch,
  replicated: Replicated | undefined,
  gone = false,
): void {
  if (view.confirming !== batch) return;
  view.confirming = undefined;
  const first = gone ? undefined : skipMember(batch);
  if (first) {
    view.refuse(first, { why: 'not replicated', replicated });
    view.leaveAfterLateCommands(first);
  }
  finish(view, batch);
}

/** Skips the turn of the next member that still waits, and returns that member; undefined if there is none. */
function skipMember(batch: Batch): PlaceRequest | undefined {
  const [request] = unserved(batch);
  if (request) batch.next = batch.members.indexOf(request) + 1;
  return request;
}

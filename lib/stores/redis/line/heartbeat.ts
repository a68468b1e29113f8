import { elapsedSince, type Instant } from '../../../core/port/lease.js';
import type { Renewal } from '../commands/arguments.js';
import type { HeartbeatReply, PresentGrant } from '../commands/reply.js';
import type { Command, Replicated, ReplicatedReply } from './events.js';
import {
  finish,
  handOn,
  isOverByWallClock,
  lose,
  marginOf,
  remaining,
  renewalOf,
  unserved,
  wantsRenewal,
} from './grant.js';
import type { PlaceRequest, Run } from './model.js';
import { applyReply, confirm, dropLate } from './replies.js';
import { heartbeatArgs, markedAlive } from './requests.js';
import type { Line } from './state.js';

/** Pause before a heartbeat is repeated that replicas did not confirm, ms. */
const RETRY_PAUSE = 100;

/** A message may have been missed: sends a heartbeat at once, whose reply contains the present grant and generation. */
export function beatNow(line: Line): void {
  line.nextBeat = line.now.monotonic;
}

/** The heartbeat got no reply, or replicas are not known to have its renewal. */
export function heartbeatFailed(line: Line, run: Run | undefined, pause = RETRY_PAUSE): void {
  line.beating = false;
  if (run?.holder) line.effects.push({ type: 'suspect lease', grant: run.holder.token });
  line.nextBeat = Math.min(line.nextBeat, line.now.monotonic + pause);
}

/** Sends the one command of a heartbeat period: it renews what this client holds of the lock, and keeps the places of all that wait. */
export function beat(line: Line): void {
  line.beating = true;
  line.nextBeat = line.now.monotonic + line.settings.timing.heartbeat;
  line.wakeAt = Infinity;
  line.mustRetry = false;
  const { run, late } = line;
  const renewing = run?.holder?.renewable === true && wantsRenewal(run);
  const present = run && renewalOf(run);
  const named = renewing && present ? present : lateRenewal(line);
  const { label = '', served = 0 } = present ?? {};
  const args = heartbeatArgs(line, { ...named, label, served });
  // This heartbeat tells Redis who the present holder is.
  if (renewing) run.reported = run.next;
  const replicate = renewing && line.settings.replicated;
  line.send({ kind: 'heartbeat', args, replicate, run, late });
}

/** Names the grant that came too late, if there is one (M1). */
function lateRenewal({ late, waiting }: Line): Omit<Renewal, 'label' | 'served'> {
  const leaseTime = waiting.get(late?.run[0] ?? 0)?.leaseTime;
  return { first: late?.first ?? 0, run: late?.run ?? [], leaseTime };
}

// ---- replies ---------------------------------------------------------------------------------------------------------

type HeartbeatCommand = Extract<Command, { readonly kind: 'heartbeat' }>;

export function heartbeatAnswered(line: Line, command: HeartbeatCommand, reply: ReplicatedReply): void {
  line.beating = false;
  const { replicated } = reply;
  if (!replicated) return applyHeartbeat(line, command, reply, true);
  // The rest of the reply was applied when the write was answered (see `written`).
  if (reply.status !== 'renewed') return;
  if (!replicated.enough) heartbeatFailed(line, command.run);
  else if (command.run) applyRenewal(line, command.run, reply);
}

/** @param counts whether the reply may renew the lease on this side */
function applyHeartbeat(line: Line, command: HeartbeatCommand, reply: HeartbeatReply, counts: boolean): void {
  const { run, late, args } = command;
  if (reply.status === 'expired') {
    // The server's clock was set. This reply has told the new time, so a repeated heartbeat works (R2).
    line.nextBeat = line.now.monotonic + 1;
    applyReply(line, reply);
    return;
  }
  if (args.waiting) markedAlive(line, reply);
  if (run && counts) applyRenewal(line, run, reply);
  applyReply(line, reply);
  if (late) applyLateRenewal(line, late, reply);
}

/** The reply to a heartbeat that was sent while `run` was the present one; it touches no other (M2). */
function applyRenewal(line: Line, run: Run, reply: HeartbeatReply): void {
  if (line.run !== run) return;
  const { status, grant } = reply;
  if (status === 'renewed' && grant) renew(line, run, grant.since, grant.left);
  // This check also applies to a heartbeat that did not renew the grant.
  if (status === 'gone' && grant?.first !== run.first) {
    lose(
      line,
      run,
      'Redis no longer has this grant (it expired, was released by force, or its data was lost)',
    );
  }
}

/** A heartbeat has asked about the grant that came too late. If its reply does not contain the grant, the grant is over. */
function applyLateRenewal(line: Line, late: PresentGrant, reply: HeartbeatReply): void {
  if (line.late === late && reply.grant?.first !== late.first) dropLate(line, late);
}

/** Applies a renewal of this grant that was sent at `since` and left `left` ms of the lease (M1, M2). */
function renew(line: Line, run: Run, since: Instant, left: number): void {
  const margin = marginOf(line, run, left);
  const usable = left - margin;
  if (usable - elapsedSince(since, line.now) >= remaining(line, run)) {
    run.since = since;
    run.margin = margin;
    run.left = usable;
  }
  run.confirmed = true;
  if (run.holder) line.effects.push({ type: 'renew lease', grant: run.holder.token, since, left: usable });
}

// ---- replicas --------------------------------------------------------------------------------------------------------

/** A renewal was answered, but replicas may not have it yet: applies the common part of the reply, and renews nothing here. */
export function written(line: Line, command: Command, reply: HeartbeatReply): void {
  if (command.kind === 'heartbeat') {
    applyHeartbeat(line, command, reply, reply.status === 'gone');
  } else if (command.kind === 'confirm') {
    if (command.args.waiting && reply.status !== 'expired') markedAlive(line, reply);
    applyReply(line, reply);
  }
}

/** Enters the grant if enough replicas have it. If not, refuses its first request and puts the others back in line. */
export function confirmed(line: Line, run: Run, reply: ReplicatedReply): void {
  if (line.confirming !== run) return;
  const { grant, status, replicated } = reply;
  if (!replicated?.enough || status !== 'renewed' || !grant) {
    notConfirmed(line, run, replicated, status === 'gone');
    return;
  }
  renew(line, run, grant.since, grant.left);
  // Another renewal, sent by the present clock, tells what is left. A release would cost its request the place.
  if (isOverByWallClock(line, run)) return confirm(line, run);
  line.confirming = undefined;
  line.run = run;
  // The lease counts from the sending of this renewal, and so does the next one: replicas may have used up much of it.
  line.nextBeat = Math.min(line.nextBeat, grant.since.monotonic + line.settings.timing.heartbeat);
  handOn(line, run);
}

export function notConfirmed(line: Line, run: Run, replicated: Replicated | undefined, gone = false): void {
  if (line.confirming !== run) return;
  line.confirming = undefined;
  const first = gone ? undefined : skipMember(run);
  if (first) {
    line.refuse(first, { why: 'not replicated', replicated });
    line.leaveAfterLateCommands(first);
  }
  finish(line, run);
}

/** Skips the turn of the next member that still waits, and returns that member; undefined if there is none. */
function skipMember(run: Run): PlaceRequest | undefined {
  const [request] = unserved(run);
  if (request) run.next = run.members.indexOf(request) + 1;
  return request;
}

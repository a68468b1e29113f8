import type { FinishedGrant, Renewal } from '../commands/arguments.js';
import type { PresentGrant } from '../commands/reply.js';
import { marginOf, remaining } from './lease.js';
import type { Holder, PlaceRequest, Batch } from './model.js';
import { missedGrant, mustMarkAlive, requestAgain, served } from './requests.js';
import type { LockView, LostBatch } from './lock-view.js';

/**
 * A section that lasts longer than this (ms) after a handoff renews its first lease and reports its holder to Redis. Shorter
 * sections, which are common on a hot lock, cost no such command.
 */
const FIRST_REPORT = 100;
/** A first lease with less left than this (ms) is renewed at once, because the event loop may be blocked for about that long. */
const SHORT_LEASE = 3_000;

const NONE: readonly PlaceRequest[] = [];

export function newBatch(view: LockView, grant: PresentGrant): Batch {
  const members = grant.batch.map((sequence) => view.waiting.get(sequence));
  const leaseTime = members[0]?.leaseTime;
  const margin = marginOf(view, leaseTime, grant.left);
  return {
    first: grant.first,
    sequences: grant.batch,
    members,
    leaseTime,
    margin,
    since: grant.since,
    left: grant.left - margin,
    grantedAt: view.now.monotonic,
    confirmed: leaseTime !== undefined && grant.left >= leaseTime,
    next: 0,
    // Redis has the label from the start only for a request that was never in line.
    reported: grant.batch.length === 1 && members[0]?.ticket === 0 ? 1 : 0,
    holderSince: 0,
    holder: undefined,
  };
}

/** The next member that still waits becomes the holder; undefined if there is none. */
function grantNextMember(view: LockView, batch: Batch): Holder | undefined {
  batch.holder = undefined;
  while (batch.next < batch.members.length) {
    const index = batch.next++;
    const request = batch.members[index];
    if (request?.state !== 'waiting') continue;
    batch.holder = { request, token: batch.first + index, renewable: true };
    batch.holderSince = view.now.monotonic;
    return batch.holder;
  }
  return undefined;
}

/** Members that still wait for their turn. */
export function unserved(batch: Batch): readonly PlaceRequest[] {
  if (batch.next === batch.members.length) return NONE;
  return batch.members
    .slice(batch.next)
    .filter((request): request is PlaceRequest => request?.state === 'waiting');
}

/** Whether the token belongs to this batch. */
function covers(batch: Batch, token: number): boolean {
  return token >= batch.first && token < batch.first + batch.sequences.length;
}

/** When a heartbeat should report the holder to Redis (monotonic ms); Infinity: it is reported. */
export function reportDue(view: LockView, batch: Batch): number {
  if (!isUnreported(batch) || batch.holder?.renewable !== true) return Infinity;
  const whole = batch.leaseTime ?? view.settings.timing.lease;
  const short = remaining(view, batch) < Math.min(SHORT_LEASE, whole / 2);
  return short ? batch.holderSince : batch.holderSince + FIRST_REPORT;
}

/** The holder is not reported to Redis yet, or has its first lease only. */
function isUnreported(batch: Batch): boolean {
  return batch.holder !== undefined && batch.reported < batch.next;
}

/** Whether a heartbeat should renew the grant. A fixed lease needs that only until Redis has confirmed its full length and its holder. */
export function wantsRenewal(batch: Batch): boolean {
  return batch.leaseTime === undefined || !batch.confirmed || isUnreported(batch);
}

/** The arguments of a renewal. */
export function renewalOf(batch: Batch): Renewal {
  const { label } = batch.holder?.request ?? unserved(batch)[0] ?? { label: '' };
  const served = Math.max(0, batch.next - 1);
  return { first: batch.first, batch: batch.sequences, leaseTime: batch.leaseTime, label, served };
}

/** The arguments of the release script for this batch. */
function finishedGrant(batch: Batch, left: readonly PlaceRequest[], keep?: number): FinishedGrant {
  return {
    keep,
    first: batch.first,
    head: batch.next > 0 ? (batch.sequences[0] ?? 0) : 0,
    unserved: left.map(({ sequence }) => sequence),
    leaseTime: batch.leaseTime,
  };
}

/** The holder found its lease over before this view did. */
export function leaseLost(view: LockView, token: number): void {
  if (view.batch?.holder?.token === token) stopWithinMargin(view, view.batch);
}

/** The section of a holder has ended. */
export function endSection(view: LockView, token: number, kept: boolean, keep?: number): void {
  const { batch, lostButRunning } = view;
  if (batch?.holder?.token === token && kept && keep !== undefined) {
    // Redis counts from the grant of the batch, the holder from its turn.
    finish(view, batch, token, Math.ceil(keep + batch.holderSince - batch.grantedAt));
  } else if (batch?.holder?.token === token && kept) {
    // If the lease is no longer renewed, the rest of it may be too short for the next member, who gets a new grant instead.
    if (batch.holder.renewable) handOn(view, batch, token);
    else finish(view, batch, token);
  } else if (lostButRunning && covers(lostButRunning.batch, token)) {
    giveLostBack(view, lostButRunning.batch, token);
  } else {
    view.effects.push({ type: 'released', grant: token });
  }
}

/** Gives the grant back, because the client closes. */
export function giveBack(view: LockView): void {
  const batch = view.batch ?? view.confirming;
  if (!batch) return;
  if (batch.holder) view.effects.push({ type: 'end lease', grant: batch.holder.token });
  finish(view, batch);
}

/** Lets the next member of the batch hold the lock; releases the grant if none is left (R10). */
export function handOn(view: LockView, batch: Batch, ended?: number): void {
  const holder = remaining(view, batch) > 0 ? grantNextMember(view, batch) : undefined;
  if (!holder) return finish(view, batch, ended);
  const { request, token } = holder;
  served(view, request);
  view.effects.push({
    type: 'grant',
    request: request.sequence,
    grant: token,
    since: batch.since,
    left: batch.left,
  });
  if (ended !== undefined) view.effects.push({ type: 'released', grant: ended });
}

/**
 * Ends the grant here and then on the server, which puts members that had no turn back into their places. They also ask for
 * these places themselves, in case that command is lost (M7).
 *
 * @param ended token of the section whose end this is
 * @param keep ms from the grant during which the lock is passed to no request
 */
export function finish(view: LockView, batch: Batch, ended?: number, keep?: number): void {
  view.batch = undefined;
  view.confirming = undefined;
  view.finished = Math.max(view.finished, batch.first);
  const left = unserved(batch);
  release(view, finishedGrant(batch, left, keep), ended);
  askAnew(view, batch, left);
}

function askAnew(view: LockView, batch: Batch, requests: readonly PlaceRequest[]): void {
  const tooLate = remaining(view, batch) <= 0;
  for (const request of requests) {
    if (tooLate) missedGrant(view, request);
    else requestAgain(view, request);
  }
}

/** The server has taken the grant away. */
export function lose(view: LockView, batch: Batch, why: string): void {
  if (batch.holder) view.effects.push({ type: 'lose lease', grant: batch.holder.token, why });
  if (unserved(batch).length > 0) return finish(view, batch);
  setLost(view, batch, -Infinity, knownEnd(batch));
}

/** The lease has run out by the local clocks (R12). */
export function runOut(view: LockView, batch: Batch): void {
  const why = 'its lease ran out before it could be renewed';
  if (batch.holder) view.effects.push({ type: 'lose lease', grant: batch.holder.token, why });
  stopWithinMargin(view, batch);
}

/** The holder was notified, and has the margin of the lease to stop, however late this was noticed. */
function stopWithinMargin(view: LockView, batch: Batch): void {
  const { now, settings } = view;
  const { lease, commandTimeout } = settings.timing;
  // Redis may have carried out a renewal that was not answered, or may still do so.
  const renewedUntil = now.monotonic + commandTimeout + (batch.leaseTime ?? lease);
  const serverUntil = wantsRenewal(batch) ? Math.max(knownEnd(batch), renewedUntil) : knownEnd(batch);
  setLost(view, batch, now.monotonic + batch.margin, serverUntil);
}

/** When the lease ends on the server, by the last answer (monotonic ms). */
function knownEnd({ since, left, margin }: Batch): number {
  return since.monotonic + left + margin;
}

function setLost(view: LockView, batch: Batch, stopBy: number, serverUntil: number): void {
  view.batch = undefined;
  view.finished = Math.max(view.finished, batch.first);
  view.lostButRunning = { batch, stopBy, serverUntil };
}

/** A reply tells that Redis has renewed a grant that is lost here, so the section that still runs has to release it when it ends. */
export function keptByServer(lost: LostBatch, { since, left }: PresentGrant): void {
  lost.serverUntil = Math.max(lost.serverUntil, since.monotonic + left);
}

/**
 * Until when a lost grant is kept for its section (monotonic ms). If other requests of the batch wait, they ask anew when the section should
 * have stopped; if none does, it ends with its lease on the server.
 */
export function lostUntil({ batch, stopBy, serverUntil }: LostBatch): number {
  return unserved(batch).length > 0 ? stopBy : Math.max(stopBy, serverUntil);
}

/**
 * The section of a lost grant has ended, or has no more time. Members without a turn ask anew (M7).
 *
 * @param ended token of the section whose end this is
 */
export function giveLostBack(view: LockView, batch: Batch, ended?: number): void {
  view.lostButRunning = undefined;
  const left = unserved(batch);
  if (ended !== undefined || left.length > 0) release(view, finishedGrant(batch, left), ended);
  askAnew(view, batch, left);
  if (view.late) view.nextBeat = view.now.monotonic;
}

/** @param ended token of the section that waits for the acknowledgement, at most for the command deadline */
export function release(view: LockView, grant: FinishedGrant, ended?: number): void {
  const markAlive = view.waiting.size > 0 && mustMarkAlive(view);
  view.releasing += 1;
  view.releasedAfter = view.now.order;
  view.send({ kind: 'release', grant, markAlive, ended });
  if (ended === undefined) return;
  view.acknowledgeBy(view.now.monotonic + view.settings.timing.commandTimeout, ended);
}

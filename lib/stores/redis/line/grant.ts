import { elapsedSince, safetyMargin } from '../../../core/port/lease.js';
import type { FinishedGrant, Renewal } from '../commands/arguments.js';
import type { PresentGrant } from '../commands/reply.js';
import type { Holder, PlaceRequest, Run } from './model.js';
import { missedGrant, mustMarkAlive, requestAgain, served } from './requests.js';
import type { Line } from './state.js';

/**
 * A section that lasts longer than this (ms) after a handoff renews its first lease and reports its holder to Redis. Shorter
 * sections, which are common on a hot lock, cost no such command.
 */
const FIRST_REPORT = 100;
/** A first lease with less left than this (ms) is renewed at once, because the event loop may be blocked for about that long. */
const SHORT_LEASE = 3_000;

const NONE: readonly PlaceRequest[] = [];

export function newRun(line: Line, grant: PresentGrant): Run {
  const members = grant.run.map((sequence) => line.waiting.get(sequence));
  const leaseTime = members[0]?.leaseTime;
  const margin = marginOf(line, { leaseTime }, grant.left);
  return {
    first: grant.first,
    sequences: grant.run,
    members,
    leaseTime,
    margin,
    since: grant.since,
    left: grant.left - margin,
    grantedAt: line.now.monotonic,
    confirmed: leaseTime !== undefined && grant.left >= leaseTime,
    next: 0,
    // Redis has the label from the start only for a request that was never in line.
    reported: grant.run.length === 1 && members[0]?.ticket === 0 ? 1 : 0,
    holderSince: 0,
    holder: undefined,
  };
}

export function marginOf(line: Line, run: Pick<Run, 'leaseTime'>, given: number): number {
  return safetyMargin(run.leaseTime ?? line.settings.timing.lease, given);
}

/** Milliseconds for which this client may act on the grant. */
export function remaining(line: Line, run: Run): number {
  return run.left - elapsedSince(run.since, line.now);
}

/**
 * Milliseconds after which Redis must have ended the grant as well, if it is not renewed. Uses only the monotonic clock: the wall
 * clock may have been set, and the result must not be too short.
 */
function serverLeft(line: Line, run: Run): number {
  return Math.max(0, run.left + run.margin - (line.now.monotonic - run.since.monotonic));
}

/** Whether the lease counts as over only because the wall clock was set since it began. */
export function isOverByWallClock(line: Line, run: Run): boolean {
  return remaining(line, run) <= 0 && serverLeft(line, run) > run.margin;
}

/** The next member that still waits becomes the holder; undefined if there is none. */
function grantNextMember(line: Line, run: Run): Holder | undefined {
  run.holder = undefined;
  while (run.next < run.members.length) {
    const index = run.next++;
    const request = run.members[index];
    if (request?.state !== 'waiting') continue;
    run.holder = { request, token: run.first + index, renewable: true };
    run.holderSince = line.now.monotonic;
    return run.holder;
  }
  return undefined;
}

/** Members that still wait for their turn. */
export function unserved(run: Run): readonly PlaceRequest[] {
  if (run.next === run.members.length) return NONE;
  return run.members
    .slice(run.next)
    .filter((request): request is PlaceRequest => request?.state === 'waiting');
}

/** Whether the token belongs to this run. */
function covers(run: Run, token: number): boolean {
  return token >= run.first && token < run.first + run.sequences.length;
}

/** When a heartbeat should report the holder to Redis (monotonic ms); Infinity: it is reported. */
export function reportDue(line: Line, run: Run): number {
  if (!isUnreported(run) || run.holder?.renewable !== true) return Infinity;
  const whole = run.leaseTime ?? line.settings.timing.lease;
  const short = remaining(line, run) < Math.min(SHORT_LEASE, whole / 2);
  return short ? run.holderSince : run.holderSince + FIRST_REPORT;
}

/** The holder is not reported to Redis yet, or has its first lease only. */
function isUnreported(run: Run): boolean {
  return run.holder !== undefined && run.reported < run.next;
}

/** Whether a heartbeat should renew the grant. A fixed lease needs that only until Redis has confirmed its full length and its holder. */
export function wantsRenewal(run: Run): boolean {
  return run.leaseTime === undefined || !run.confirmed || isUnreported(run);
}

/** The arguments of a renewal. */
export function renewalOf(run: Run): Renewal {
  const { label } = run.holder?.request ?? unserved(run)[0] ?? { label: '' };
  const served = Math.max(0, run.next - 1);
  return { first: run.first, run: run.sequences, leaseTime: run.leaseTime, label, served };
}

/** The arguments of the release script for this run. */
function finishedGrant(run: Run, left: readonly PlaceRequest[], keep?: number): FinishedGrant {
  return {
    keep,
    first: run.first,
    head: run.next > 0 ? (run.sequences[0] ?? 0) : 0,
    unserved: left.map(({ sequence }) => sequence),
    leaseTime: run.leaseTime,
  };
}

/** The holder found its lease over before this line did. */
export function leaseLost(line: Line, token: number): void {
  if (line.run?.holder?.token === token) stopWithinMargin(line, line.run);
}

/** The section of a holder has ended. */
export function endSection(line: Line, token: number, kept: boolean, keep?: number): void {
  const { run, lostButRunning } = line;
  if (run?.holder?.token === token && kept && keep !== undefined) {
    // Redis counts from the grant of the run, the holder from its turn.
    finish(line, run, token, Math.ceil(keep + run.holderSince - run.grantedAt));
  } else if (run?.holder?.token === token && kept) {
    // If the lease is no longer renewed, the rest of it may be too short for the next member, who gets a new grant instead.
    if (run.holder.renewable) handOn(line, run, token);
    else finish(line, run, token);
  } else if (lostButRunning && covers(lostButRunning.run, token)) {
    giveLostBack(line, lostButRunning.run, token);
  } else {
    line.effects.push({ type: 'released', grant: token });
  }
}

/** Gives the grant back, because the client closes. */
export function giveBack(line: Line): void {
  const run = line.run ?? line.confirming;
  if (!run) return;
  if (run.holder) line.effects.push({ type: 'end lease', grant: run.holder.token });
  finish(line, run);
}

/** Lets the next member of the run hold the lock; releases the grant if none is left (R10). */
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
 * Ends the grant here and then on the server, which puts members that had no turn back into their places. They also ask for
 * these places themselves, in case that command is lost (M7).
 *
 * @param ended token of the section whose end this is
 * @param keep ms from the grant during which the lock is passed to no request
 */
export function finish(line: Line, run: Run, ended?: number, keep?: number): void {
  line.run = undefined;
  line.confirming = undefined;
  line.finished = Math.max(line.finished, run.first);
  const left = unserved(run);
  release(line, finishedGrant(run, left, keep), ended);
  askAnew(line, run, left);
}

function askAnew(line: Line, run: Run, requests: readonly PlaceRequest[]): void {
  const tooLate = remaining(line, run) <= 0;
  for (const request of requests) {
    if (tooLate) missedGrant(line, request);
    else requestAgain(line, request);
  }
}

/** The server has taken the grant away. */
export function lose(line: Line, run: Run, why: string): void {
  if (run.holder) line.effects.push({ type: 'lose lease', grant: run.holder.token, why });
  if (unserved(run).length > 0) return finish(line, run);
  setLost(line, run, -Infinity);
}

/** The lease has run out by the local clocks (R12). */
export function runOut(line: Line, run: Run): void {
  const why = 'its lease ran out before it could be renewed';
  if (run.holder) line.effects.push({ type: 'lose lease', grant: run.holder.token, why });
  stopWithinMargin(line, run);
}

/** The holder was notified, and has the margin of the lease to stop, however late this was noticed. */
function stopWithinMargin(line: Line, run: Run): void {
  setLost(line, run, line.now.monotonic + run.margin);
}

function setLost(line: Line, run: Run, stopBy: number): void {
  line.run = undefined;
  line.finished = Math.max(line.finished, run.first);
  line.lostButRunning = { run, stopBy };
}

/**
 * Until when a lost grant is kept for its section (monotonic ms). If other requests of the run wait, they ask anew when the section should
 * have stopped; if none does, it ends with its lease on the server.
 */
export function lostUntil({ run, stopBy }: NonNullable<Line['lostButRunning']>): number {
  if (unserved(run).length > 0) return stopBy;
  return Math.max(stopBy, run.since.monotonic + run.left + run.margin);
}

/**
 * The section of a lost grant has ended, or has no more time. Members without a turn ask anew (M7).
 *
 * @param ended token of the section whose end this is
 */
export function giveLostBack(line: Line, run: Run, ended?: number): void {
  line.lostButRunning = undefined;
  const left = unserved(run);
  if (ended !== undefined || left.length > 0) release(line, finishedGrant(run, left), ended);
  askAnew(line, run, left);
  if (line.late) line.nextBeat = line.now.monotonic;
}

/** @param ended token of the section that waits for the acknowledgement, at most for the command deadline */
export function release(line: Line, grant: FinishedGrant, ended?: number): void {
  const markAlive = line.waiting.size > 0 && mustMarkAlive(line);
  line.releasing += 1;
  line.releasedAfter = line.now.order;
  line.send({ kind: 'release', grant, markAlive, ended });
  if (ended === undefined) return;
  line.acknowledgeBy(line.now.monotonic + line.settings.timing.commandTimeout, ended);
}

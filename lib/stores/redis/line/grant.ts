import { elapsedSince, safetyMargin } from '../../../core/lease.js';
import type { FinishedGrant, Renewal } from '../commands/arguments.js';
import type { PresentGrant } from '../commands/reply.js';
import type { Holder, PlaceRequest, Run } from './model.js';
import { missedGrant, mustMarkAlive, requestAgain, served } from './requests.js';
import type { Line } from './state.js';

/**
 * A section that lasts longer than this (ms) after a handoff renews its first lease and reports its holder to Redis; shorter ones,
 * as on a lock that many want, cost no command of their own.
 */
const FIRST_REPORT = 100;
/** A first lease with less left than this is renewed at once: an event loop may be blocked for so long (ms). */
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
    confirmed: leaseTime !== undefined && grant.left >= leaseTime,
    next: 0,
    // Only a request that was never in line has its label there from the start.
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
 * Milliseconds after which Redis, too, must have ended the grant if it is not renewed. Not by the wall clock, which may
 * have been set: this must not be too short.
 */
function serverLeft(line: Line, run: Run): number {
  return Math.max(0, run.left + run.margin - (line.now.monotonic - run.since.monotonic));
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

/** Whether a token of this run. */
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

/** Whether a heartbeat should renew it: a fixed lease only until its full length is confirmed, and its holder is known. */
export function wantsRenewal(run: Run): boolean {
  return run.leaseTime === undefined || !run.confirmed || isUnreported(run);
}

/** What a renewal names. */
export function renewalOf(run: Run): Renewal {
  const { label } = run.holder?.request ?? unserved(run)[0] ?? { label: '' };
  const served = Math.max(0, run.next - 1);
  return { first: run.first, run: run.sequences, leaseTime: run.leaseTime, label, served };
}

/** What the release script needs of it. */
function finishedGrant(run: Run, left: readonly PlaceRequest[]): FinishedGrant {
  return {
    first: run.first,
    head: run.next > 0 ? (run.sequences[0] ?? 0) : 0,
    unserved: left.map(({ sequence }) => sequence),
    leaseTime: run.leaseTime,
  };
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

export function lose(line: Line, run: Run, why: string): void {
  if (run.holder) line.effects.push({ type: 'lose lease', grant: run.holder.token, why });
  lost(line, run);
}

/**
 * The holder has been notified, and the margin of the lease is its time to stop. So the grant is released when its section ends, or
 * it ends with its lease. The other requests of the run do not wait for that and ask anew (M7).
 */
function lost(line: Line, run: Run): void {
  if (unserved(run).length > 0) return finish(line, run);
  line.run = undefined;
  line.finished = Math.max(line.finished, run.first);
  line.lapsing = { run, until: line.now.monotonic + serverLeft(line, run) };
}

/** @param ended token of the section that waits for the acknowledgement, no longer than for the command deadline */
export function release(line: Line, grant: FinishedGrant, ended?: number): void {
  const markAlive = line.waiting.size > 0 && mustMarkAlive(line);
  line.releasing += 1;
  line.releasedAfter = line.now.order;
  line.send({ kind: 'release', grant, markAlive, ended });
  if (ended === undefined) return;
  line.acknowledgeBy(line.now.monotonic + line.settings.timing.commandTimeout, ended);
}

import { elapsedSince, type Instant, safetyMargin } from '../../../core/lease.js';
import type { FinishedGrant, Renewal } from '../commands/arguments.js';
import type { PresentGrant } from '../commands/reply.js';
import type { Holder, PlaceRequest, Run } from './model.js';
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

function marginOf(line: Line, run: Pick<Run, 'leaseTime'>, given: number): number {
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
export function serverLeft(line: Line, run: Run): number {
  return Math.max(0, run.left + run.margin - (line.now.monotonic - run.since.monotonic));
}

/** The next member that still waits becomes the holder; undefined if there is none. */
export function grantNextMember(line: Line, run: Run): Holder | undefined {
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

/** Takes the next member that still waits out without its turn; undefined if there is none. */
export function skipMember(run: Run): PlaceRequest | undefined {
  const [request] = unserved(run);
  if (request) run.next = run.members.indexOf(request) + 1;
  return request;
}

/** Members that still wait for their turn. */
export function unserved(run: Run): readonly PlaceRequest[] {
  if (run.next === run.members.length) return NONE;
  return run.members
    .slice(run.next)
    .filter((request): request is PlaceRequest => request?.state === 'waiting');
}

/** Whether it is its turn in the present grant that the request waits for. */
export function isGranted(line: Line, request: PlaceRequest): boolean {
  const run = line.run ?? line.confirming;
  return run !== undefined && run.members.includes(request, run.next);
}

/** The same, or it is part of a grant of which the next heartbeat tells whether it is over (M1). */
export function isPresent(line: Line, request: PlaceRequest): boolean {
  return isGranted(line, request) || line.late?.run.includes(request.sequence) === true;
}

/** Whether a token of this run. */
export function covers(run: Run, token: number): boolean {
  return token >= run.first && token < run.first + run.sequences.length;
}

/** A renewal of this very grant, sent at `since`, left so much (M1, M2). */
export function renew(line: Line, run: Run, since: Instant, left: number): void {
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

/** When a heartbeat should report the holder to Redis (monotonic ms); Infinity: it is reported. */
export function reportDue(line: Line, run: Run): number {
  if (!isUnreported(run) || run.holder?.renewable !== true) return Infinity;
  const whole = run.leaseTime ?? line.settings.timing.lease;
  const short = remaining(line, run) < Math.min(SHORT_LEASE, whole / 2);
  return short ? run.holderSince : run.holderSince + FIRST_REPORT;
}

/** A heartbeat reports the holder. */
export function report(run: Run): void {
  run.reported = run.next;
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
export function finishedGrant(run: Run, left: readonly PlaceRequest[]): FinishedGrant {
  return {
    first: run.first,
    head: run.next > 0 ? (run.sequences[0] ?? 0) : 0,
    unserved: left.map(({ sequence }) => sequence),
    leaseTime: run.leaseTime,
  };
}

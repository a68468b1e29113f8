import type { HeartbeatArgs, Renewal } from '../commands/arguments.js';
import type { LockReply } from '../commands/reply.js';
import type { NewRequest, PlaceRequest } from './model.js';
import { WAKE_PLACES, WAKE_SPREAD, type Line } from './state.js';

/** One command puts at most this many requests in line. */
const LARGEST_GROUP = 250;
/** Value of `confirmAfter`: the request needs no other acknowledgement. */
const NO_NEED = -1;

/** Takes in a new request. Requests of one turn of the event loop ask for their places together if they can. */
export function request(line: Line, entry: NewRequest): void {
  const { sequence, leaseTime, tries, maxQueue, alone, label } = entry;
  const added: PlaceRequest = {
    sequence,
    leaseTime,
    tries,
    maxQueue,
    alone,
    label,
    since: line.now.monotonic,
    state: 'waiting',
    ticket: 0,
    generation: 0,
    requesting: false,
    cameTooLate: false,
    confirmAfter: NO_NEED,
    leftAfter: 0,
    missed: 0,
    placeReported: false,
    outcomeUnknownUntil: 0,
    confirmedBefore: true,
    awaitingBlocker: false,
  };
  line.waiting.set(added.sequence, added);
  const plain = !tries && !alone && leaseTime === undefined && maxQueue === Infinity;
  if (plain) {
    if (line.newcomers.push(added) === 1) line.effects.push({ type: 'await turn' });
  } else {
    // Requests that came earlier ask first, so that this one does not overtake them.
    admitNewcomers(line);
    requestPlace(line, added);
  }
}

/** Asks for the places of new requests, in groups of consecutive sequences: a thousand requests take four commands. */
export function admitNewcomers(line: Line): void {
  const newcomers = line.newcomers.filter(({ state }) => state === 'waiting');
  line.newcomers = [];
  for (let start = 0; start < newcomers.length;) {
    const group = firstGroup(newcomers, start);
    start += group.length;
    requestPlaces(line, group);
  }
}

/** Asks for a place, or for the old place back. */
export function requestPlace(line: Line, waiter: PlaceRequest): void {
  if (!waiter.requesting && waiter.state === 'waiting') requestPlaces(line, [waiter]);
}

/** The last acknowledgement is no longer valid: the request asks for its place again (M6, M7). */
export function requestAgain(line: Line, waiter: PlaceRequest | undefined): void {
  if (waiter?.state !== 'waiting') return;
  waiter.confirmAfter = line.now.order;
  requestPlace(line, waiter);
}

/** Its grant was over before this client could enter it: it asks again, unless that has happened too often. */
export function missedGrant(line: Line, waiter: PlaceRequest | undefined): void {
  if (waiter?.state !== 'waiting') return;
  line.missedGrant(waiter, waiter.leaseTime !== undefined);
  requestAgain(line, waiter);
  // The release of that grant may have put it back into its place.
  if (waiter.state !== 'waiting') line.leave(waiter);
}

/** Another server answers now. It may not know what the previous one acknowledged, so all requests ask for their places (M6). */
export function requestAllAgain(line: Line): void {
  for (const waiter of line.waiting.values()) if (waiter.ticket > 0) requestAgain(line, waiter);
}

/**
 * Whether an acknowledgement is missing, of another generation, or from before the need arose (M5, M6). A member of the
 * present grant needs none: it is served, or asks again when the grant ends without it (M7).
 */
export function mustRequest(line: Line, waiter: PlaceRequest): boolean {
  if (waiter.state !== 'waiting' || waiter.requesting || isPresent(line, waiter)) return false;
  if (mustConfirm(waiter)) return true;
  return waiter.ticket > 0 && waiter.generation !== line.generation;
}

/** Whether the request still waits for an acknowledgement that it has asked for again. */
export function mustConfirm({ confirmAfter }: PlaceRequest): boolean {
  return confirmAfter !== NO_NEED;
}

/** A new generation means that Redis may have dropped requests of this client, so each asks for its place again (M5). */
export function applyGeneration(line: Line, generation: number): void {
  if (generation === line.generation || generation < 0) return;
  line.generation = generation;
  for (const waiter of line.waiting.values()) if (mustRequest(line, waiter)) requestPlace(line, waiter);
}

/** Redis has acknowledged the place of the request. */
export function acknowledge(
  waiter: PlaceRequest,
  ticket: number,
  reply: { order: number; generation: number },
) {
  waiter.ticket = ticket;
  waiter.generation = reply.generation;
  if (reply.order > waiter.confirmAfter) waiter.confirmAfter = NO_NEED;
}

/** Tells the caller, once, how many will be served before it. */
export function reportPlace(line: Line, waiter: PlaceRequest, ahead: number): void {
  if (waiter.placeReported || waiter.state !== 'waiting') return;
  waiter.placeReported = true;
  line.effects.push({ type: 'report place', request: waiter.sequence, ahead });
}

/** The request holds the lock: it is out of the line. */
export function served(line: Line, waiter: PlaceRequest): void {
  waiter.state = 'granted';
  line.waiting.delete(waiter.sequence);
  line.leaveAfterLateCommands(waiter);
}

/** Whether the request is a member of the present grant and waits only for its turn. */
function isGranted(line: Line, request: PlaceRequest): boolean {
  const run = line.run ?? line.confirming ?? line.lostButRunning?.run;
  return run !== undefined && run.members.includes(request, run.next);
}

/** As `isGranted`, or the request is in a grant that came too late, which the next heartbeat asks about (M1). */
export function isPresent(line: Line, request: PlaceRequest): boolean {
  return isGranted(line, request) || line.late?.run.includes(request.sequence) === true;
}

/** A command has marked this client alive and waiting on the server. */
export function markedAlive(line: Line, { sentAt }: LockReply): void {
  line.markedAliveAt = Math.max(line.markedAliveAt, sentAt.monotonic);
}

/** Whether a release should mark this client alive (R5). It need not if an earlier command did under the present subscription. */
export function mustMarkAlive(line: Line): boolean {
  const { subscribedSince, markedAliveAt, now, settings } = line;
  const known = subscribedSince !== undefined && subscribedSince <= markedAliveAt;
  return !known || now.monotonic - markedAliveAt > settings.timing.heartbeat / 2;
}

/** When a lease ends, the first in line asks at once; those behind ask a little later, in case the first does not. */
export function queuedBehind(line: Line, ahead: number): void {
  line.wakeSpread = Math.min(line.wakeSpread, Math.min(ahead, WAKE_PLACES) * WAKE_SPREAD);
}

/** What a heartbeat contains: what it renews, and what this client waits for. */
export function heartbeatArgs(line: Line, renewal: Renewal): HeartbeatArgs {
  if (line.waiting.size === 0) return { renewal, waiting: undefined };
  // These must still be in the queue. It may have been evicted, or be that of older data, which lack the newest (M5).
  const known = [...line.waiting.values()].filter(
    (waiter) => waiter.ticket > 0 && !waiter.requesting && !isGranted(line, waiter),
  );
  const newest = known.length > 1 ? known.at(-1) : undefined;
  return { renewal, waiting: { oldest: known[0], newest } };
}

function requestPlaces(line: Line, requests: readonly PlaceRequest[]): void {
  const deadline = line.now.monotonic + line.settings.timing.commandTimeout;
  for (const waiter of requests) {
    waiter.requesting = true;
    // Until the deadline a copy of the command may be under way (R13).
    waiter.confirmedBefore = waiter.outcomeUnknownUntil < line.now.monotonic;
    waiter.outcomeUnknownUntil = deadline;
  }
  const [request] = requests;
  if (requests.length > 1) line.send({ kind: 'join', requests, deadline });
  else if (request) line.send({ kind: 'acquire', request, deadline });
}

/** The longest group of requests whose sequences follow each other. */
function firstGroup(requests: readonly PlaceRequest[], start: number): readonly PlaceRequest[] {
  let end = start + 1;
  while (
    end < requests.length &&
    end - start < LARGEST_GROUP &&
    requests[end]!.sequence === requests[end - 1]!.sequence + 1
  ) {
    end += 1;
  }
  return requests.slice(start, end);
}

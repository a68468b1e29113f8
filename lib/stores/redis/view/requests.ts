import type { HeartbeatArgs, Renewal } from '../commands/arguments.js';
import type { LockReply } from '../commands/reply.js';
import type { NewRequest, PlaceRequest } from './model.js';
import { WAKE_PLACES, WAKE_SPREAD, type LockView } from './lock-view.js';

/** One command puts at most this many requests in line. */
const LARGEST_GROUP = 250;
/** Value of `confirmAfter`: the request needs no other acknowledgement. */
const NO_NEED = -1;

/** Takes in a new request. Requests of one turn of the event loop ask for their places together if they can. */
export function request(view: LockView, entry: NewRequest): void {
  const { sequence, leaseTime, tries, maxQueue, alone, share, label } = entry;
  const added: PlaceRequest = {
    sequence,
    leaseTime,
    tries,
    maxQueue,
    alone,
    share,
    label,
    since: view.now.monotonic,
    state: 'waiting',
    ticket: 0,
    generation: 0,
    requesting: false,
    cameTooLate: false,
    confirmAfter: NO_NEED,
    leftAfter: 0,
    missed: 0,
    placeReported: false,
    takenAway: 0,
    outcomeUnknownUntil: 0,
    confirmedBefore: true,
    awaitingBlocker: false,
  };
  view.waiting.set(added.sequence, added);
  const plain = !tries && !alone && !share && leaseTime === undefined && maxQueue === Infinity;
  if (plain) {
    if (view.newcomers.push(added) === 1) view.effects.push({ type: 'await turn' });
  } else {
    // Requests that came earlier ask first, so that this one does not overtake them.
    admitNewcomers(view);
    requestPlace(view, added);
  }
}

/** Asks for the places of new requests, in groups of consecutive sequences: a thousand requests take four commands. */
export function admitNewcomers(view: LockView): void {
  const newcomers = view.newcomers.filter(({ state }) => state === 'waiting');
  view.newcomers = [];
  for (let start = 0; start < newcomers.length;) {
    const group = firstGroup(newcomers, start);
    start += group.length;
    requestPlaces(view, group);
  }
}

/** Asks for a place, or for the old place back. */
export function requestPlace(view: LockView, waiter: PlaceRequest): void {
  if (!waiter.requesting && waiter.state === 'waiting') requestPlaces(view, [waiter]);
}

/** The last acknowledgement is no longer valid: the request asks for its place again (M6, M7). */
export function requestAgain(view: LockView, waiter: PlaceRequest | undefined): void {
  if (waiter?.state !== 'waiting') return;
  waiter.confirmAfter = view.now.order;
  requestPlace(view, waiter);
}

/** Its grant was over before this client could enter it: it asks again, unless that has happened too often. */
export function missedGrant(view: LockView, waiter: PlaceRequest | undefined): void {
  if (waiter?.state !== 'waiting') return;
  view.missedGrant(waiter, waiter.leaseTime !== undefined);
  requestAgain(view, waiter);
  // The release of that grant may have put it back into its place.
  if (waiter.state !== 'waiting') view.leave(waiter);
}

/** Another server answers now. It may not know what the previous one acknowledged, so all requests ask for their places (M6). */
export function requestAllAgain(view: LockView): void {
  for (const waiter of view.waiting.values()) if (waiter.ticket > 0) requestAgain(view, waiter);
}

/**
 * Whether an acknowledgement is missing, of another generation, or from before the need arose (M5, M6). A member of the
 * present grant needs none: it is served, or asks again when the grant ends without it (M7).
 */
export function mustRequest(view: LockView, waiter: PlaceRequest): boolean {
  if (waiter.state !== 'waiting' || waiter.requesting || isPresent(view, waiter)) return false;
  if (mustConfirm(waiter)) return true;
  return waiter.ticket > 0 && waiter.generation !== view.generation;
}

/** Whether the request still waits for an acknowledgement that it has asked for again. */
export function mustConfirm({ confirmAfter }: PlaceRequest): boolean {
  return confirmAfter !== NO_NEED;
}

/** A new generation means that Redis may have dropped requests of this client, so each asks for its place again (M5). */
export function applyGeneration(view: LockView, generation: number): void {
  if (generation === view.generation || generation < 0) return;
  view.generation = generation;
  for (const waiter of view.waiting.values()) if (mustRequest(view, waiter)) requestPlace(view, waiter);
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
export function reportPlace(view: LockView, waiter: PlaceRequest, ahead: number): void {
  if (waiter.placeReported || waiter.state !== 'waiting') return;
  waiter.placeReported = true;
  view.effects.push({ type: 'report place', request: waiter.sequence, ahead });
}

/** The request holds the lock: it is out of the line. */
export function served(view: LockView, waiter: PlaceRequest): void {
  waiter.state = 'granted';
  view.waiting.delete(waiter.sequence);
  view.leaveAfterLateCommands(waiter);
}

/** Whether the request is a member of the present grant and waits only for its turn. */
function isGranted(view: LockView, request: PlaceRequest): boolean {
  const batch = view.batch ?? view.confirming ?? view.lostButRunning?.batch;
  return batch !== undefined && batch.members.includes(request, batch.next);
}

/** As `isGranted`, or the request is in a grant that came too late, which the next heartbeat asks about (M1). */
export function isPresent(view: LockView, request: PlaceRequest): boolean {
  return isGranted(view, request) || view.late?.batch.includes(request.sequence) === true;
}

/** A command has marked this client alive and waiting on the server. */
export function markedAlive(view: LockView, { sentAt }: LockReply): void {
  view.markedAliveAt = Math.max(view.markedAliveAt, sentAt.monotonic);
}

/** Whether a release should mark this client alive (R5). It need not if an earlier command did under the present subscription. */
export function mustMarkAlive(view: LockView): boolean {
  const { subscribedSince, markedAliveAt, now, settings } = view;
  const known = subscribedSince !== undefined && subscribedSince <= markedAliveAt;
  return !known || now.monotonic - markedAliveAt > settings.timing.heartbeat / 2;
}

/** When a lease ends, the first in line asks at once; those behind ask a little later, in case the first does not. */
export function queuedBehind(view: LockView, ahead: number): void {
  view.wakeSpread = Math.min(view.wakeSpread, Math.min(ahead, WAKE_PLACES) * WAKE_SPREAD);
}

/** What a heartbeat contains: what it renews, and what this client waits for. */
export function heartbeatArgs(view: LockView, renewal: Renewal): HeartbeatArgs {
  if (view.waiting.size === 0) return { renewal, waiting: undefined };
  // These must still be in the queue. It may have been evicted, or be that of older data, which lack the newest (M5).
  const known = [...view.waiting.values()].filter(
    (waiter) => waiter.ticket > 0 && !waiter.requesting && !isGranted(view, waiter),
  );
  const newest = known.length > 1 ? known.at(-1) : undefined;
  return { renewal, waiting: { oldest: known[0], newest } };
}

function requestPlaces(view: LockView, requests: readonly PlaceRequest[]): void {
  const deadline = view.now.monotonic + view.settings.timing.commandTimeout;
  for (const waiter of requests) {
    waiter.requesting = true;
    // Until the deadline a copy of the command may be under way (R13).
    waiter.confirmedBefore = waiter.outcomeUnknownUntil < view.now.monotonic;
    waiter.outcomeUnknownUntil = deadline;
  }
  const [request] = requests;
  if (requests.length > 1) view.send({ kind: 'join', requests, deadline });
  else if (request) view.send({ kind: 'acquire', request, deadline });
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

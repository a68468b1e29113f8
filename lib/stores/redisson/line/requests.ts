import type { AcquireReply } from '../commands/reply.js';
import type { Failure } from '../../redis-client/line/line-machine.js';
import { begin } from './grants.js';
import type { NewRequest, PlaceRequest } from './model.js';
import type { Line } from './state.js';

/**
 * A free lock belongs to the head of the line, which may be about to ask, or dead. Others ask again after this pause (ms), then after
 * twice as long, and so on. Otherwise they would not know when the lease ends that the head took meanwhile.
 */
const FREE_PAUSE = 25;

/** Takes in a new request. */
export function request(line: Line, entry: NewRequest): void {
  const added: PlaceRequest = {
    ...entry,
    arrivedAt: line.now.monotonic,
    state: 'waiting',
    placed: false,
    missed: 0,
    forced: false,
    subscribed: false,
    requesting: false,
    cameTooLate: false,
    requestAgain: false,
    confirmAfter: 0,
    answered: 0,
    leftAfter: 0,
    outcomeUnknownUntil: 0,
    awaitingBlocker: false,
  };
  line.waiting.set(added.id, added);
  requestPlace(line, added);
}

/** Asks for the lock or a place in line; if an acquire is under way, once more after that. */
export function requestPlace(line: Line, waiter: PlaceRequest | undefined): void {
  if (waiter?.state !== 'waiting') return;
  waiter.requestAgain = waiter.requesting;
  if (waiter.requesting) return;
  waiter.requesting = true;
  waiter.confirmAfter = line.now.order;
  const deadline = line.now.monotonic + line.timing.commandTimeout;
  line.send({ kind: 'acquire', request: waiter, deadline });
}

export function requestForFirst(line: Line): void {
  requestPlace(line, first(line));
}

/** Messages to the request are received from now on. It asks once, because earlier messages were missed. */
export function subscribed(line: Line, id: string): void {
  // Only the first of this client's requests can have been woken: the others stand behind it.
  if (first(line)?.id === id) requestForFirst(line);
}

export function applyReply(line: Line, waiter: PlaceRequest, reply: AcquireReply, deadline: number): void {
  waiter.requesting = false;
  waiter.answered = reply.order;
  if (reply.repeated) waiter.outcomeUnknownUntil = deadline;
  if (waiter.state === 'waiting') apply(line, waiter, reply);
  else if ((reply.status === 'granted' || reply.status === 'queued') && reply.order > waiter.leftAfter) {
    // The request no longer waits, so it leaves (R10), unless a leave was sent after this command.
    if (waiter.state === 'refused') line.leave(waiter);
  }
  replied(line, waiter);
}

export function placeRequestFailed(
  line: Line,
  waiter: PlaceRequest,
  failure: Failure,
  deadline: number,
): void {
  if (failure.effect === 'unknown') waiter.outcomeUnknownUntil = deadline;
  line.placeRequestFailed(waiter, waiter.placed, failure);
  replied(line, waiter);
}

function apply(line: Line, waiter: PlaceRequest, reply: AcquireReply): void {
  switch (reply.status) {
    case 'granted':
      return granted(line, waiter, reply);
    case 'queued':
      return queued(line, waiter, reply);
    case 'busy':
      return line.refuse(waiter, { why: 'busy', blocker: line.blocker(reply.blocker, reply.left) });
    case 'full':
      return line.refuse(waiter, { why: 'full' });
  }
}

function replied(line: Line, waiter: PlaceRequest): void {
  if (waiter.requestAgain) {
    waiter.requestAgain = false;
    requestPlace(line, waiter);
  }
  if (waiter.state !== 'waiting') line.leaveAfterLateCommands(waiter);
}

function granted(
  line: Line,
  waiter: PlaceRequest,
  reply: Extract<AcquireReply, { readonly status: 'granted' }>,
): void {
  if (waiter.forced) {
    // This reply may be older than the force release: another acquire shows whether the grant still exists.
    waiter.forced = false;
    waiter.requestAgain = true;
    return;
  }
  if (begin(line, waiter, reply)) {
    waiter.state = 'granted';
    line.remove(waiter);
    // Redis has fewer waiters than this client alone: some lost their places.
    const placed = [...line.waiting.values()].filter((other) => other.placed);
    if (reply.waiting < placed.length) checkPlaces(line, reply.order);
    return;
  }
  // The grant is not entered (M1) but released, and the request asks anew.
  line.missedGrant(waiter, !waiter.renewed);
  line.leave(waiter, true);
}

function queued(
  line: Line,
  waiter: PlaceRequest,
  reply: Extract<AcquireReply, { readonly status: 'queued' }>,
): void {
  const { id } = waiter;
  if (!waiter.placed) line.effects.push({ type: 'report place', request: id, ahead: reply.ahead });
  else if (reply.entered) lostPlace(line, waiter, reply.order);
  waiter.placed = true;
  waiter.maxQueue = Infinity;
  if (!waiter.subscribed) {
    waiter.subscribed = true;
    line.effects.push({ type: 'subscribe', id });
  }
  // This finds a grant whose reply was lost, and a turn whose message was lost.
  const next = reply.holder ?? reply.head;
  if (next !== id) requestPlace(line, line.waiting.get(next));
  line.freeLooks = reply.holder === undefined ? line.freeLooks + 1 : 0;
  const pause = reply.holder === undefined ? FREE_PAUSE * 2 ** line.freeLooks : Infinity;
  line.lookWithin(Math.min(pause, reply.left + 1));
}

/** The request is now at the end of the line: its deadline had passed, so it counted as dead, or Redis lost the line. */
function lostPlace(line: Line, waiter: PlaceRequest, order: number): void {
  line.waiting.delete(waiter.id);
  line.waiting.set(waiter.id, waiter);
  line.effects.push({ type: 'warn of lost place', id: waiter.id });
  checkPlaces(line, order);
}

/** One request has lost its place by command number `order`, so others may have too: each asks once, in order. */
function checkPlaces(line: Line, order: number): void {
  if (order <= line.checkedOrder) return;
  for (const waiter of line.waiting.values()) {
    const known = waiter.requesting ? waiter.confirmAfter >= order : waiter.answered >= order;
    if (!known) requestPlace(line, waiter);
  }
  line.checkedOrder = line.now.order;
}

function first(line: Line): PlaceRequest | undefined {
  const [waiter] = line.waiting.values();
  return waiter;
}

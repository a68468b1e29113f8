import type { AcquireReply } from '../commands/reply.js';
import type { Failure } from '../../redis-client/view/protocol-types.js';
import { begin } from './grants.js';
import type { NewRequest, PlaceRequest } from './model.js';
import type { LockView } from './lock-view.js';

/**
 * A free lock belongs to the head of the line, which may be about to ask, or dead. Others ask again after this pause (ms), then after
 * twice as long, and so on. Otherwise they would not know when the lease ends that the head took meanwhile.
 */
const FREE_PAUSE = 25;

/** Takes in a new request. */
export function request(view: LockView, entry: NewRequest): void {
  const added: PlaceRequest = {
    ...entry,
    arrivedAt: view.now.monotonic,
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
  view.waiting.set(added.id, added);
  requestPlace(view, added);
}

/** Asks for the lock or a place in line; if an acquire is under way, once more after that. */
export function requestPlace(view: LockView, waiter: PlaceRequest | undefined): void {
  if (waiter?.state !== 'waiting') return;
  waiter.requestAgain = waiter.requesting;
  if (waiter.requesting) return;
  waiter.requesting = true;
  waiter.confirmAfter = view.now.order;
  const deadline = view.now.monotonic + view.timing.commandTimeout;
  view.send({ kind: 'acquire', request: waiter, deadline });
}

export function requestForFirst(view: LockView): void {
  requestPlace(view, first(view));
}

/** Messages to the request are received from now on. It asks once, because earlier messages were missed. */
export function subscribed(view: LockView, id: string): void {
  // Only the first of this client's requests can have been woken: the others stand behind it.
  if (first(view)?.id === id) requestForFirst(view);
}

export function applyReply(
  view: LockView,
  waiter: PlaceRequest,
  reply: AcquireReply,
  deadline: number,
): void {
  waiter.requesting = false;
  waiter.answered = reply.order;
  if (reply.repeated) waiter.outcomeUnknownUntil = deadline;
  if (waiter.state === 'waiting') apply(view, waiter, reply);
  else if ((reply.status === 'granted' || reply.status === 'queued') && reply.order > waiter.leftAfter) {
    // The request no longer waits, so it leaves (R10), unless a leave was sent after this command.
    if (waiter.state === 'refused') view.leave(waiter);
  }
  replied(view, waiter);
}

export function placeRequestFailed(
  view: LockView,
  waiter: PlaceRequest,
  failure: Failure,
  deadline: number,
): void {
  if (failure.effect === 'unknown') waiter.outcomeUnknownUntil = deadline;
  view.placeRequestFailed(waiter, waiter.placed, failure);
  replied(view, waiter);
}

function apply(view: LockView, waiter: PlaceRequest, reply: AcquireReply): void {
  switch (reply.status) {
    case 'granted':
      return granted(view, waiter, reply);
    case 'queued':
      return queued(view, waiter, reply);
    case 'busy':
      return view.refuse(waiter, { why: 'busy', blocker: view.blocker(reply.blocker, reply.left) });
    case 'full':
      return view.refuse(waiter, { why: 'full' });
  }
}

function replied(view: LockView, waiter: PlaceRequest): void {
  if (waiter.requestAgain) {
    waiter.requestAgain = false;
    requestPlace(view, waiter);
  }
  if (waiter.state !== 'waiting') view.leaveAfterLateCommands(waiter);
}

function granted(
  view: LockView,
  waiter: PlaceRequest,
  reply: Extract<AcquireReply, { readonly status: 'granted' }>,
): void {
  if (waiter.forced) {
    // This reply may be older than the force release: another acquire shows whether the grant still exists.
    waiter.forced = false;
    waiter.requestAgain = true;
    return;
  }
  if (begin(view, waiter, reply)) {
    waiter.state = 'granted';
    view.remove(waiter);
    // Redis has fewer waiters than this client alone: some lost their places.
    const placed = [...view.waiting.values()].filter((other) => other.placed);
    if (reply.waiting < placed.length) checkPlaces(view, reply.order);
    return;
  }
  // The grant is not entered (M1) but released, and the request asks anew.
  view.missedGrant(waiter, !waiter.renewed);
  view.leave(waiter, true);
}

function queued(
  view: LockView,
  waiter: PlaceRequest,
  reply: Extract<AcquireReply, { readonly status: 'queued' }>,
): void {
  const { id } = waiter;
  if (!waiter.placed) view.effects.push({ type: 'report place', request: id, ahead: reply.ahead });
  else if (reply.entered) lostPlace(view, waiter, reply.order);
  waiter.placed = true;
  waiter.maxQueue = Infinity;
  if (!waiter.subscribed) {
    waiter.subscribed = true;
    view.effects.push({ type: 'subscribe', id });
  }
  // This finds a grant whose reply was lost, and a turn whose message was lost.
  const next = reply.holder ?? reply.head;
  if (next !== id) requestPlace(view, view.waiting.get(next));
  view.freeLooks = reply.holder === undefined ? view.freeLooks + 1 : 0;
  const pause = reply.holder === undefined ? FREE_PAUSE * 2 ** view.freeLooks : Infinity;
  view.lookWithin(Math.min(pause, reply.left + 1));
}

/** The request is now at the end of the line: its deadline had passed, so it counted as dead, or Redis lost the line. */
function lostPlace(view: LockView, waiter: PlaceRequest, order: number): void {
  view.waiting.delete(waiter.id);
  view.waiting.set(waiter.id, waiter);
  view.effects.push({ type: 'warn of lost place', id: waiter.id });
  checkPlaces(view, order);
}

/** One request has lost its place by command number `order`, so others may have too: each asks once, in order. */
function checkPlaces(view: LockView, order: number): void {
  if (order <= view.checkedOrder) return;
  for (const waiter of view.waiting.values()) {
    const known = waiter.requesting ? waiter.confirmAfter >= order : waiter.answered >= order;
    if (!known) requestPlace(view, waiter);
  }
  view.checkedOrder = view.now.order;
}

function first(view: LockView): PlaceRequest | undefined {
  const [waiter] = view.waiting.values();
  return waiter;
}

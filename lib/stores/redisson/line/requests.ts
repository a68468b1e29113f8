import type { AcquireReply } from '../commands/reply.js';
import type { Failure, NewRequest, Refusal } from './events.js';
import { begin } from './grants.js';
import { blocker, leave, leaveAfterLateCopies } from './leaving.js';
import { lookWithin, remind, send, type Line, type PlaceRequest } from './state.js';

/** Pause before a request that is in line asks again after a failure, ms. */
const RETRY_PAUSE = 100;
/**
 * A free lock is the head's, which may be about to ask, or dead: others look after it again after this, ms, then after
 * twice as long, and so on. Otherwise they would not know when the lease ends that the head took meanwhile.
 */
const FREE_PAUSE = 25;

/** A call wants the lock. */
export function request(line: Line, asked: NewRequest): void {
  const added: PlaceRequest = {
    ...asked,
    arrivedAt: line.now.monotonic,
    state: 'waiting',
    placed: false,
    grantedTooLate: false,
    forced: false,
    subscribed: false,
    asking: false,
    askAgain: false,
    askedAfter: 0,
    answered: 0,
    leftAfter: 0,
    outcomeUnknownUntil: 0,
    lastWords: false,
  };
  line.waiting.set(added.id, added);
  ask(line, added);
}

/** Asks for the lock or a place in line; if an acquire is under way, once more after that. */
export function ask(line: Line, asked: PlaceRequest | undefined): void {
  if (asked?.state !== 'waiting') return;
  asked.askAgain = asked.asking;
  if (asked.asking) return;
  asked.asking = true;
  asked.askedAfter = line.now.order;
  const deadline = line.now.monotonic + line.timing.commandTimeout;
  const { id, wait, leaseTime, tries, placed } = asked;
  // A request that was in line once is not refused when it has to enter again.
  const maxQueue = placed ? Infinity : asked.maxQueue;
  const args = { id, wait, leaseTime, tries, maxQueue };
  send(line, { kind: 'acquire', args, deadline }, { kind: 'acquire', request: asked, deadline });
}

export function askFirst(line: Line): void {
  ask(line, first(line));
}

/** Messages to the request are received from now on. What came before is found by asking. */
export function subscribed(line: Line, id: string): void {
  // Only the first of this client's requests can have been woken: the others stand behind it.
  if (first(line)?.id === id) askFirst(line);
}

export function applyReply(line: Line, asked: PlaceRequest, reply: AcquireReply, deadline: number): void {
  asked.asking = false;
  asked.answered = reply.order;
  if (reply.repeated) asked.outcomeUnknownUntil = deadline;
  if (asked.state === 'waiting') apply(line, asked, reply);
  else if ((reply.status === 'granted' || reply.status === 'queued') && reply.order > asked.leftAfter) {
    // Nothing waits for this any more (R10). A leave that was sent later has seen to it.
    if (asked.state === 'refused') leave(line, asked);
  }
  afterAsking(line, asked);
}

export function askingFailed(line: Line, asked: PlaceRequest, failure: Failure, deadline: number): void {
  asked.asking = false;
  if (failure.effect === 'unknown') asked.outcomeUnknownUntil = deadline;
  if (asked.state === 'waiting') {
    if (asked.placed && failure.retriable) {
      // In line already: it survives the outage until its wait time ends.
      remind(line, { at: line.now.monotonic + RETRY_PAUSE, what: 'ask', request: asked });
    } else {
      refuse(line, asked, { why: 'error', error: failure.error });
      if (asked.placed || failure.effect === 'unknown') leave(line, asked);
    }
  }
  afterAsking(line, asked);
}

/** It does not get the lock. */
export function refuse(line: Line, asked: PlaceRequest, refusal: Refusal): void {
  if (asked.state !== 'waiting') return;
  asked.state = 'refused';
  remove(line, asked);
  line.effects.push({ type: 'refuse', id: asked.id, refusal });
}

/** The wait time is over or the caller aborts: from here on the request takes no grant (M4). */
export function cancel(line: Line, id: string, why: 'wait time' | 'abort'): void {
  const asked = line.waiting.get(id);
  if (!asked) return;
  if (why === 'abort') {
    refuse(line, asked, { why });
    leave(line, asked);
    return;
  }
  asked.state = 'refused';
  asked.lastWords = true;
  remove(line, asked);
  leave(line, asked);
}

/** All of them are refused, and leave. */
export function refuseAll(line: Line, refusal: Refusal): void {
  for (const asked of [...line.waiting.values()]) {
    refuse(line, asked, refusal);
    leave(line, asked);
  }
}

function apply(line: Line, asked: PlaceRequest, reply: AcquireReply): void {
  switch (reply.status) {
    case 'granted':
      return granted(line, asked, reply);
    case 'queued':
      return queued(line, asked, reply);
    case 'busy':
      return refuse(line, asked, { why: 'busy', blocker: blocker(line, reply.blocker) });
    case 'full':
      return refuse(line, asked, { why: 'full' });
  }
}

function afterAsking(line: Line, asked: PlaceRequest): void {
  if (asked.askAgain) {
    asked.askAgain = false;
    ask(line, asked);
  }
  if (asked.state !== 'waiting') leaveAfterLateCopies(line, asked);
}

function granted(
  line: Line,
  asked: PlaceRequest,
  reply: Extract<AcquireReply, { readonly status: 'granted' }>,
): void {
  if (asked.forced) {
    // This reply may be older than the force release: Redis says what became of the grant.
    asked.forced = false;
    asked.askAgain = true;
    return;
  }
  if (begin(line, asked, reply)) {
    asked.state = 'granted';
    remove(line, asked);
    // Redis knows fewer waiters than stand here: some lost their places.
    const placed = [...line.waiting.values()].filter((other) => other.placed);
    if (reply.waiting < placed.length) checkPlaces(line, reply.order);
    return;
  }
  // It is not entered (M1) but given back, and asks anew, once: a lease may be too short for any reply.
  if (asked.tries || asked.grantedTooLate) {
    refuse(line, asked, { why: 'lease too short', leaseTime: asked.leaseTime });
  }
  asked.grantedTooLate = true;
  leave(line, asked, true);
}

function queued(
  line: Line,
  asked: PlaceRequest,
  reply: Extract<AcquireReply, { readonly status: 'queued' }>,
): void {
  const { id } = asked;
  if (!asked.placed) line.effects.push({ type: 'tell place', id, ahead: reply.ahead });
  else if (reply.entered) lostPlace(line, asked, reply.order);
  asked.placed = true;
  if (!asked.subscribed) {
    asked.subscribed = true;
    line.effects.push({ type: 'subscribe', id });
  }
  // A grant whose reply was lost is found here, and a turn whose message was.
  const next = reply.holder ?? reply.head;
  if (next !== id) ask(line, line.waiting.get(next));
  line.freeLooks = reply.holder === undefined ? line.freeLooks + 1 : 0;
  const pause = reply.holder === undefined ? FREE_PAUSE * 2 ** line.freeLooks : Infinity;
  lookWithin(line, Math.min(pause, reply.left + 1));
}

/** Its deadline had passed, by which Redisson recognizes a dead waiter, or Redis lost the line. It stands at the end now. */
function lostPlace(line: Line, asked: PlaceRequest, order: number): void {
  line.waiting.delete(asked.id);
  line.waiting.set(asked.id, asked);
  line.effects.push({ type: 'warn of lost place', id: asked.id });
  checkPlaces(line, order);
}

/** What happened to one, by the command of that order, may have happened to all: each asks, in order, once. */
function checkPlaces(line: Line, order: number): void {
  if (order <= line.checkedOrder) return;
  for (const asked of line.waiting.values()) {
    const known = asked.asking ? asked.askedAfter >= order : asked.answered >= order;
    if (!known) ask(line, asked);
  }
  line.checkedOrder = line.now.order;
}

function first(line: Line): PlaceRequest | undefined {
  const [asked] = line.waiting.values();
  return asked;
}

function remove(line: Line, { id, subscribed }: PlaceRequest): void {
  line.waiting.delete(id);
  if (subscribed) line.effects.push({ type: 'unsubscribe', id });
}

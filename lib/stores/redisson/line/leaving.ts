import type { LeaveReply } from '../commands/reply.js';
import type { Blocker } from '../../redis-client/line-machine.js';
import type { PlaceRequest } from './model.js';
import { remind, send, type Line } from './state.js';

/** The error of a timed-out request names its blocker if the server reports it within this many ms. */
const LAST_WORDS = 100;

/**
 * Out of the line, and out of the lock if it was just granted.
 *
 * @param requestsAgain whether the request joins the line anew after that
 */
export function leave(line: Line, request: PlaceRequest, requestsAgain = false): void {
  request.leftAfter = line.now.order;
  send(line, { kind: 'leave', request, requestsAgain });
  if (request.lastWords) remind(line, { at: line.now.monotonic + LAST_WORDS, what: 'last words', request });
}

/** The request is out of the line, or its deadline will put it out; `reply` undefined: there was none. */
export function left(line: Line, request: PlaceRequest, reply: LeaveReply | undefined): void {
  if (reply) request.leftAfter = Math.max(request.leftAfter, reply.order - 1);
  refuseWithLastWords(line, request, reply);
  if (request.state !== 'waiting') leaveAfterDuplicates(line, request);
}

/** The wait time is over: refuses the request, with its blocker as far as the server reported it. */
export function refuseWithLastWords(line: Line, request: PlaceRequest, reply?: LeaveReply): void {
  if (!request.lastWords) return;
  request.lastWords = false;
  const place = reply?.ahead === undefined ? {} : { ahead: reply.ahead };
  line.effects.push({
    type: 'refuse',
    request: request.id,
    refusal: { why: 'wait time', blocker: { ...blocker(line, reply?.holder), ...place } },
  });
}

/** A request that is over while a copy of its command may still run leaves once more after that (R13). */
export function leaveAfterDuplicates(line: Line, request: PlaceRequest): void {
  const { outcomeUnknownUntil } = request;
  if (outcomeUnknownUntil === 0) return;
  request.outcomeUnknownUntil = 0;
  remind(line, { at: outcomeUnknownUntil, what: 'leave', request });
}

/** Who holds, for people; Redisson's name for it where it is not of this client. */
export function blocker(line: Line, id: string | undefined): Blocker {
  if (id === undefined) return {};
  const known = describe(line, id);
  return known ? { holder: known.who, heldFor: line.now.monotonic - known.since } : { holder: id };
}

/** Who this client has under that name in Redis, for people, and since when (monotonic ms). */
export function describe(
  line: Line,
  id: string,
): { readonly who: string; readonly since: number } | undefined {
  const grant = line.grants.get(id);
  if (grant) return { who: grant.who, since: grant.grantedAt };
  const request = line.waiting.get(id);
  return request && { who: request.who, since: request.arrivedAt };
}

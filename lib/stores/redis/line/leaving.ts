import type { LeaveReply } from '../commands/reply.js';
import { remind, send, type Line, type PlaceRequest } from './state.js';

/** The error of a timed-out request names its blocker if the server reports it within this many ms. */
const LAST_WORDS = 100;

/** The wait time is over or the caller aborts: from here on the request takes no grant (M4). */
export function cancel(line: Line, sequence: number, why: 'wait time' | 'abort'): void {
  const request = line.waiting.get(sequence);
  if (!request) return;
  request.state = 'refused';
  line.waiting.delete(sequence);
  leave(line, request);
  if (why === 'abort') {
    line.effects.push({ type: 'refuse', request: sequence, refusal: { why } });
  } else {
    request.lastWords = true;
    remind(line, { at: line.now.monotonic + LAST_WORDS, what: 'last words', request });
  }
}

/** Out of the line. If the reply names a grant of which no member waits or works any more, that is handed on (M3). */
export function leave(line: Line, request: PlaceRequest): void {
  const { sequence, leaseTime } = request;
  request.leftAfter = line.now.order;
  const markAlive = line.waiting.size > 0;
  send(line, { kind: 'leave', request: { sequence, leaseTime }, markAlive }, { kind: 'leave', request });
}

/** The request is out of the line, or the liveness window must have put it out; `reply` undefined: there was none. */
export function left(line: Line, request: PlaceRequest, reply: LeaveReply | undefined): void {
  if (reply) request.leftAfter = Math.max(request.leftAfter, reply.order - 1);
  leaveAfterLateCommands(line, request);
  refuseWithLastWords(line, request, reply);
}

/** The wait time is over: refuses the request, with its blocker as far as the server reported it. */
export function refuseWithLastWords(line: Line, request: PlaceRequest, reply?: LeaveReply): void {
  if (!request.lastWords) return;
  request.lastWords = false;
  const { blocker, ahead = -1 } = reply ?? {};
  line.effects.push({
    type: 'refuse',
    request: request.sequence,
    refusal: { why: 'wait time', blocker: { ...blocker, ...(ahead >= 0 && { ahead }) } },
  });
}

/** A request that is over while a copy of its command may still run leaves once more after that (R13). */
export function leaveAfterLateCommands(line: Line, request: PlaceRequest): void {
  const { outcomeUnknownUntil } = request;
  if (outcomeUnknownUntil === 0) return;
  request.outcomeUnknownUntil = 0;
  remind(line, { at: outcomeUnknownUntil, what: 'leave', request });
}

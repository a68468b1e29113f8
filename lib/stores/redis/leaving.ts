import type { Holds } from './holds.js';
import type { LockCore } from './lock-core.js';
import { refusal, type Why } from './refusals.js';
import { readBlocker, type Reply } from './reply.js';
import type { Request } from './request.js';

/** The error of a request that timed out names what blocked it if Redis tells so within this time, ms. */
const BLOCKER_TIME = 100;

/** The wait time of a request has elapsed. */
export function overdue(lock: LockCore, holds: Holds, request: Request): void {
  switch (request.state) {
    case 'waiting':
      return leaveLine(lock, holds, request);
    case 'over':
      // Redis did not tell what blocked it.
      return request.wait.refuse(refusal(request, 'timed out'));
    case 'next':
      return lock.end(request, 'timed out', holds.blockerOf(request));
    default:
      return refuse(lock, holds, request, 'timed out');
  }
}

/** A request ends without the lock, and Redis is told. Has no effect on one that is held, or over. */
export function refuse(lock: LockCore, holds: Holds, request: Request, why: Why | Error): void {
  const { state } = request;
  if (state === 'held' || state === 'lost' || state === 'over') return;
  lock.end(request, why);
  if (state === 'confirming') holds.giveUp(request);
  // An acquire that is not answered yet comes before this, or fails.
  else if (state === 'waiting' || (state === 'asking' && request.askedAt)) leave(lock, holds, request);
  lock.plan();
}

/**
 * A request is over, and may be in line, or granted without our knowledge. In that case it may be the first of a batch, which goes on if
 * its message comes before the answer; else the lock is given back.
 */
export function leave(
  lock: LockCore,
  holds: Holds,
  request: Request,
  answered?: (reply: Reply) => void,
): void {
  const { id, about, sequence, fixed, isCopied } = request;
  if (holds.isHead(request)) return;
  // A copy of its acquire may still be under way (rule 8).
  if (isCopied) return void lock.done(id, { how: 'mark', about }, answered, fixed);
  lock.leaving.set(sequence, request);
  const left = lock.done(
    id,
    { how: 'why', about },
    (reply) => {
      lock.leaving.delete(sequence);
      answered?.(reply);
      if (reply.answers[0]?.[0] !== 'held' || holds.isHead(request)) return;
      void lock.done(id, undefined, undefined, fixed);
      lock.look();
    },
    fixed,
  );
  void left.then(() => lock.leaving.delete(sequence));
}

/** A request in line gives up: its error names what blocked it, if Redis tells so in time. */
function leaveLine(lock: LockCore, holds: Holds, request: Request): void {
  const { wait } = request;
  lock.move(request, 'over');
  lock.client.timers.schedule(wait, performance.now() + BLOCKER_TIME);
  leave(lock, holds, request, ({ answers: [place = [], blocker = []] }) => {
    const told = place[0] === 'held' ? {} : readBlocker(place, blocker);
    if (wait.inLine) wait.refuse(refusal(request, 'timed out', told));
  });
}

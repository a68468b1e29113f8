import type { Holds } from './holds.js';
import { leave } from './leave.js';
import type { LockCore } from './lock-core.js';
import { refusal, type Why } from './refusals.js';
import { readBlocker } from './reply.js';
import type { Request } from './request.js';

/** The error of a request that timed out names what blocked it if Redis tells so within this time, ms. */
const BLOCKER_TIME = 100;

/** The wait time of a request has elapsed. */
export function overdue(lock: LockCore, holds: Holds, request: Request): void {
  switch (request.state) {
    case 'waiting':
      return leaveLine(lock, request);
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
  else if (request.askedAt && state !== 'next') {
    request.isMarked = request.isCopied;
    leave(lock, request);
  }
  lock.plan();
}

/** A request in line gives up: its error names what blocked it, if Redis tells so in time. */
function leaveLine(lock: LockCore, request: Request): void {
  const { wait } = request;
  lock.move(request, 'over');
  lock.client.timers.schedule(wait, performance.now() + BLOCKER_TIME);
  leave(lock, request, ({ answers: [place = [], blocker = []] }) => {
    if (wait.inLine) wait.refuse(refusal(request, 'timed out', readBlocker(place, blocker)));
  });
}

import type { LockCore } from './lock-core.js';
import type { Reply } from './reply.js';
import type { Request } from './request.js';

/** Tells Redis that a request has ended without the lock, as far as this client knows. */
export function leave(
  lock: LockCore,
  { id, leaving, fixed }: Pick<Request, 'id' | 'leaving' | 'fixed'>,
  answered?: (reply: Reply) => void,
): void {
  void lock.done(
    id,
    leaving,
    (reply) => {
      answered?.(reply);
      if (reply.answers[0]?.[0] !== 'batch') return;
      // Its neighbours were granted with it: they are in line again before the lock is passed on (rule 9).
      lock.askNeighbours();
      void lock.done(id);
    },
    fixed,
  );
}

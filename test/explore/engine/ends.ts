import { getEventListeners } from 'node:events';
import { movesOf } from './moves.js';
import type { Run } from './run.js';
import { fail, namesOf, type Move } from './scope.js';

/** Every call settles if nothing else goes wrong, and then nothing is left. */
export function checkEnd(run: Run): void {
  if (isOver(run)) return checkLeftovers(run);
  if (!movesOf(run).some((move) => settles(run, move))) {
    const pending = run.calls.filter((call) => call.pending);
    fail(
      'stuck',
      pending.length > 0 ? `${namesOf(pending)} never ends` : 'a grant, drain or close never ends',
    );
  }
}

function isOver({ calls, store, ends }: Run): boolean {
  const quiet = store.waiting.length === 0 && store.grants.length === 0;
  return (
    quiet && !calls.some(({ pending }) => pending) && ends.drain !== 'pending' && ends.close !== 'pending'
  );
}

/** Whether a move brings a call nearer to its end. A section ends when the calls that it has begun have ended. */
function settles({ calls }: Run, { kind, request }: Move): boolean {
  if (kind !== 'end') return ['grant', 'busy', 'answer', 'pass'].includes(kind);
  return (
    calls[request!]!.asked.how === 'acquire' ||
    !calls.some(({ asked, pending }) => asked.parent === request && pending)
  );
}

function checkLeftovers(run: Run): void {
  const { grants, shutdown, timers } = run.inside;
  const left = (what: string): never => fail('left', `${what} is left`);
  if (grants.present().length > 0) left('a grant');
  if (shutdown.waits.present().length > 0) left('a wait');
  const draining = shutdown.phase === 'stopping' ? 1 : 0;
  if (timers.size > draining || run.store.deadlines.size > 0) left('a timer');
  const signals = [
    ...run.calls.map(({ abort }) => abort),
    ...[...run.clients.values()].map(({ gone }) => gone),
  ];
  if (signals.some(({ signal }) => getEventListeners(signal, 'abort').length > 0)) left('a listener');
}

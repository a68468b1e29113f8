import type { CallWait } from '../../../lib/core/waits/wait.js';
import type { Call } from './call.js';
import type { Run } from './run.js';
import { TROUBLE_KINDS, type Move, type TroubleKind } from './scope.js';

/** What can happen next. */
export function movesOf(run: Run): Move[] {
  const moves: Move[] = [];
  for (const [i, { state, asked }] of run.calls.entries()) {
    const { parent } = asked;
    if (state === 'idle' && (parent === undefined || run.calls[parent]!.place))
      moves.push({ kind: 'start', request: i });
    if (state === 'inside') moves.push({ kind: 'end', request: i });
  }
  for (const wait of run.store.waiting) {
    const request = Number(wait.request.label);
    if (run.store.mayGrant(wait)) moves.push({ kind: 'grant', request });
    if (wait.request.waitTime === 0) moves.push({ kind: 'busy', request });
    if (run.scope.queuesLate && !(wait as CallWait).place) moves.push({ kind: 'queue', request });
  }
  for (const grant of run.store.grants)
    if (grant.unanswered) moves.push({ kind: 'answer', request: Number(grant.label), key: grant.key });
  if (run.nextDue !== undefined) moves.push({ kind: 'pass' });
  return run.troubles > 0 ? [...moves, ...troubleMoves(run)] : moves;
}

function troubleMoves(run: Run): Move[] {
  const possible: Record<TroubleKind, () => Move[]> = {
    throw: () => aboutCalls(run, 'throw', ({ state, asked }) => state === 'inside' && asked.how === 'with'),
    abort: () => aboutCalls(run, 'abort', ({ state, abort }) => state === 'asked' && !abort.signal.aborted),
    leave: () =>
      [...run.clients].flatMap(([request, { awaitsAnswer }]) =>
        awaitsAnswer && run.calls[request]!.pending ? [{ kind: 'leave' as const, request }] : [],
      ),
    lose: () =>
      run.store.grants
        .filter(({ live }) => live)
        .map(({ label, key }) => ({ kind: 'lose', request: Number(label), key })),
    fail: () => run.store.waiting.map(({ request }) => ({ kind: 'fail', request: Number(request.label) })),
    shutdown: () => (run.ends.drain === undefined && !run.closed ? [{ kind: 'shutdown' }] : []),
    close: () => (run.closed ? [] : [{ kind: 'close' }]),
  };
  return (run.scope.only ?? TROUBLE_KINDS).flatMap((kind) => possible[kind]());
}

function aboutCalls(run: Run, kind: TroubleKind, fits: (call: Call) => boolean): Move[] {
  return run.calls.filter(fits).map(({ index }) => ({ kind, request: index }));
}

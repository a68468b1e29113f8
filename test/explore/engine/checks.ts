import type { LockLoad } from '../../../lib/core/overview/engines.js';
import type { Hold } from '../../../lib/core/holds/hold.js';
import type { LockRequest, Share } from '../../../lib/core/port/lock-store.js';
import type { CallWait } from '../../../lib/core/waits/wait.js';
import type { Call } from './call.js';
import { checkEnd } from './ends.js';
import { optionsOf, scopeOf } from './program.js';
import type { Run } from './run.js';
import { fail, namesOf, type Move } from './scope.js';
import { weightOf, type StandInGrant } from './stand-in-store.js';

/** The line of a hold. */
interface Line {
  readonly waiters: { readonly first: CallWait<unknown> | undefined };
  readonly serving: { admits(request: LockRequest): boolean };
}

/** The grant that a call holds of a key; undefined once its handle is released. */
function holdOf({ lock, state }: Call, key: string): Hold | undefined {
  return state === 'inside' ? lock!.holds.find(({ grant }) => grant.key === key) : undefined;
}

const counts = (hold: Hold | undefined): boolean => hold !== undefined && !hold.grant.lease.lostError;

/** When a section begins. */
export function checkEntry(run: Run, call: Call, again: boolean): void {
  if (again) fail('once', `section ${call.index} begins again`);
  const { asked, lock } = call;
  for (const { grant } of lock!.holds) {
    if (asked.how === 'with' && grant.lease.lostError)
      fail('entry', `section ${call.index} begins on a lost lease`);
    for (const other of run.calls) {
      const lost = holdOf(other, grant.key)?.grant.lease;
      if (lost?.lostError && lost !== grant.lease && other.told === 0)
        fail(
          'told',
          `section ${call.index} of ${grant.key} begins before ${other.index} is told that it lost it`,
        );
    }
  }
  checkKeys(run);
}

/** When everything that a move caused has settled. */
export function checkState(run: Run, move: Move | undefined): void {
  if (run.unhandled.length > 0) fail('unhandled', String(run.unhandled[0]));
  checkKeys(run);
  for (const call of run.calls) checkCall(run, call);
  for (const grant of run.store.grants) checkGrant(run, grant);
  for (const wait of run.waits) checkWait(run, wait);
  checkShutdown(run, move);
  checkLoad(run);
  checkEnd(run);
}

/** Nobody is inside a key beside somebody else, unless they share it or one is nested in the other. */
function checkKeys(run: Run): void {
  for (const key of ['a', 'b']) {
    const inside = run.calls.filter((call) => counts(holdOf(call, key)));
    for (const [i, one] of inside.entries()) {
      for (const other of inside.slice(i + 1)) {
        if (isNested(run, one, other) || isNested(run, other, one) || doShare(one, other)) continue;
        fail('exclusion', `${one.index} and ${other.index} are inside ${key}`);
      }
    }
    checkPermits(run, key, inside);
  }
}

function isNested({ program }: Run, inner: Call, outer: Call): boolean {
  return !inner.asked.options.includes('outside') && scopeOf(program, inner.index).includes(outer.index);
}

const shareOf = ({ asked }: Call): Share | undefined => {
  const { mode, permits, weight = 1 } = optionsOf(asked);
  return mode ? { mode } : permits === undefined ? undefined : { mode: 'permits', permits, weight };
};

function doShare(one: Call, other: Call): boolean {
  const mode = shareOf(one)?.mode;
  return mode !== undefined && mode === shareOf(other)?.mode;
}

/** The permits of those that are nested in none of the others. */
function checkPermits(run: Run, key: string, inside: readonly Call[]): void {
  const outer = inside.filter((call) => !inside.some((other) => isNested(run, call, other)));
  const shares = outer.map((call) => ({ share: shareOf(call) }));
  const limit = shares.flatMap(({ share }) => (share?.mode === 'permits' ? share.permits : []));
  if (limit.length > 0 && weightOf(shares) > Math.max(...limit))
    fail('permits', `${namesOf(outer)} are inside ${key}`);
}

function checkCall(run: Run, call: Call): void {
  const { index, state, lock, told, error } = call;
  if (told > 1) fail('told', `${index} is told ${told} times`);
  if (state === 'inside') {
    const lost = lock!.holds.some(({ grant }) => grant.lease.lostError);
    if (lost && told === 0) fail('told', `${index} is not told that it lost its lock`);
    if (told === 0 && run.inside.shutdown.drained)
      fail('told', `${index} is not asked to stop, though the drain time is over`);
    if (told === 0 && call.asked.parent === undefined && isTooLong(run, call))
      fail('told', `${index} is not told of its maxHold`);
    if (told > 0 && !mayLose(run) && !run.happened.has('shutdown'))
      fail('told', `${index} is told of a loss that was none`);
    for (const { grant } of lock!.holds) {
      const kept = run.store.grants.find(({ lease }) => lease === grant.lease);
      if (!run.closed && counts(holdOf(call, grant.key)) && !kept?.live)
        fail('released', `${index} is inside ${grant.key}, and the store has no grant of it`);
    }
  }
  if (error !== undefined && !mayFail(run, call, error)) fail('error', `${index} failed with ${error}`);
}

function mayFail(run: Run, { index, asked, startedAt, abort }: Call, error: string): boolean {
  const { happened } = run;
  const { waitTime = 0, reentrant } = optionsOf(asked);
  const inside = scopeOf(run.program, index).length > 0;
  switch (error) {
    case 'own':
      return happened.has('throw');
    case 'WAIT_TIMEOUT':
      return run.code.clock.now >= startedAt + waitTime;
    case 'ABORTED':
      return abort.signal.aborted || happened.has('leave');
    case 'SHUTTING_DOWN':
      return happened.has('shutdown') || happened.has('close');
    case 'STORE_UNAVAILABLE':
      return happened.has('fail');
    case 'LOST':
      return mayLose(run);
    case 'QUEUE_FULL':
      return asked.options.includes('one');
    case 'DEADLOCK':
      return (
        inside &&
        (waitTime === Infinity ||
          reentrant === false ||
          shareOf(run.calls[index]!) !== undefined ||
          hasShared(run))
      );
    default:
      return false;
  }
}

/** A lock is lost by a move, by the close, or after `maxHold`, which counts from when all keys of the call are held. */
function mayLose(run: Run): boolean {
  const { happened, calls } = run;
  return happened.has('lose') || happened.has('close') || calls.some((call) => isTooLong(run, call));
}

function isTooLong({ code }: Run, { asked, enteredAt }: Call): boolean {
  return code.clock.now >= enteredAt + (optionsOf(asked).maxHold ?? Infinity);
}

const hasShared = ({ calls }: Run): boolean => calls.some((call) => shareOf(call));

/** It is released when, and only when, nobody uses it. */
function checkGrant(run: Run, { key, label, lease, releases }: StandInGrant): void {
  if (run.closed) return;
  const taken = run.waitingCalls.flatMap((call) => call.taken ?? []);
  const held = run.calls.flatMap(({ state, lock }) => (state === 'inside' ? lock!.holds : []));
  const users = [...held, ...taken].filter(({ grant }) => grant.lease === lease).length;
  const name = `the grant of ${key} to ${label}`;
  if (releases > 1) fail('released', `${name} is released twice`);
  if (users > 0 && releases > 0) fail('released', `${name} is released, and ${users} use it`);
  if (users === 0 && releases === 0) fail('kept', `nobody uses ${name}, and it is not released`);
}

function checkWait(run: Run, wait: CallWait<unknown>): void {
  const { call, request } = wait;
  const { label } = request;
  if (wait.aborted) fail('abort', `${label} waits on, though it was aborted`);
  // The store answers a try when it does.
  if (call.waitTime > 0 && call.deadline < run.code.clock.now)
    fail('time', `${label} waits on, though its time is over`);
  const around = [...run.code.openLocks(call.scope)].flatMap(({ holds }) => holds);
  const { line, nested } = wait as unknown as { line: unknown; nested: boolean };
  if (!nested) {
    if (around.some(({ grant }) => grant.key === request.key))
      fail('own hold', `${label} waits in the line of ${request.key}, which its flow holds`);
    return;
  }
  const all = [...around, ...run.calls.flatMap(({ lock }) => lock?.holds ?? [])];
  const outer = all.find((hold) => (hold as unknown as { line: unknown }).line === line);
  if (!outer) return fail('own hold', `${label} waits inside a hold that has ended`);
  if (around.some((hold) => hold.isInside(outer)))
    fail('own hold', `${label} waits for ${request.key} inside a hold that its flow has`);
  const { waiters, serving } = line as Line;
  if (waiters.first && serving.admits(waiters.first.request)) fail('idle', `${label} waits for what is free`);
}

function checkShutdown(run: Run, move: Move | undefined): void {
  const { shutdown } = run.inside;
  const outside = run.waits.find(({ call }) => !call.insideHold);
  if (move?.kind === 'shutdown' && !move.then && outside)
    fail('shutdown', `${outside.request.label} waits on outside of holds`);
  if (shutdown.drained && run.waits.length > 0)
    fail('shutdown', `${run.waits[0]!.request.label} waits on, though all are drained`);
  if (shutdown.drained && run.ends.drain === 'pending')
    fail('shutdown', 'the drain goes on, though its time is over');
  if (shutdown.closed && run.store.waiting.length > 0)
    fail('shutdown', 'the store has waits after the close');
  if (shutdown.closed && run.store.grants.some(({ live }) => live))
    fail('shutdown', 'the store has grants after the close');
}

/** What metrics count. */
function checkLoad(run: Run): void {
  if (run.closed) return;
  const total = new Map<string, LockLoad>();
  run.engine.addLoad(total);
  const { waiting, held } = total.get('other') ?? { waiting: 0, held: 0 };
  const pending = run.calls.filter(({ state }) => state === 'asked').length;
  if (waiting > pending) fail('load', `${waiting} wait, of ${pending} that were asked for`);
  const live = weightOf(run.store.grants.filter(({ live }) => live));
  if (held !== live) fail('load', `${held} are held by the engine, ${live} in the store`);
}

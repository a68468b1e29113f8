import { AsyncLocalStorage } from 'node:async_hooks';
import type { FairLock } from './fair-lock.js';
import type { Hold } from './hold.js';
import { sharedByAllCopies } from './shared-by-all-copies.js';

/** A lock as a scope sees it. */
export interface LockInScope extends FairLock {
  /** One for each key. */
  readonly holds: readonly Hold[];
}

/**
 * What the scopes of one lock have in common: the lock, until it is released. Code that still runs in them after
 * that is outside of the lock. The field is emptied rather than flagged: code that runs on would otherwise keep the lock
 * in memory, and with it the flow that took it, and so on, in a loop that starts each round from inside the last.
 */
export interface Inside {
  lock: LockInScope | undefined;
}

/** The locks that an async flow is inside of, innermost first. */
export interface Scope {
  readonly inside: Inside;
  outer: Scope | undefined;
}

/**
 * Only ever `run`, never `enterWith`: a scope ends with the code it was made for. The name has the format of a scope:
 * raise it when `Scope`, or what a nested call uses of its lock, changes.
 */
const scopes = sharedByAllCopies('nestjs-fair-lock:hold-scope:1', () => new AsyncLocalStorage<Scope>());

/** Runs `code`, and everything it starts, inside a lock. */
export function runInScope<T>(inside: Inside, code: () => T): T {
  const outer = currentScope();
  // Drops scopes that have ended, or rounds that begin before the last has ended would keep them all in memory.
  if (outer) outer.outer = innermostOpen(outer.outer);
  return scopes.run({ inside, outer }, code);
}

/** Runs `code` in a scope that was entered before. */
export function runInside<T>(scope: Scope | undefined, code: () => T): T {
  return scope ? scopes.run(scope, code) : scopes.exit(code);
}

/** The scope of that lock, if the running flow is in it. */
export function ownScope(inside: Inside): Scope | undefined {
  let scope = scopes.getStore();
  while (scope && scope.inside !== inside) scope = scope.outer;
  return scope;
}

/** The innermost scope of the running flow whose lock is not released. */
export function currentScope(): Scope | undefined {
  return innermostOpen(scopes.getStore());
}

/** The locks of `scope` and those around it that are not released, innermost first. */
export function* openLocks(scope: Scope | undefined): Iterable<LockInScope> {
  for (; scope; scope = scope.outer) if (scope.inside.lock) yield scope.inside.lock;
}

/** The hold on a key, of those that `keeper` keeps, that a request made in `scope` nests in: the nearest. */
export function nearestHold(scope: Scope | undefined, keeper: object, encoded: string): Hold | undefined {
  for (const { holds } of openLocks(scope)) {
    const nearest = holds.find(({ held }) => held.keeper === keeper && held.encoded === encoded);
    if (nearest) return nearest;
  }
  return undefined;
}

function innermostOpen(scope: Scope | undefined): Scope | undefined {
  while (scope && !scope.inside.lock) scope = scope.outer;
  return scope;
}

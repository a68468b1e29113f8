import { AsyncLocalStorage } from 'node:async_hooks';
import type { FairLock } from './fair-lock.js';
import type { Hold } from './hold.js';
import { sharedByAllCopies } from './shared-by-all-copies.js';

/** A lock as a scope sees it. */
export interface LockInScope extends FairLock {
  /** One for each key. */
  readonly holds: readonly Hold[];
  /** False once it was released: then what still runs in its scope is a stranger. */
  readonly open: boolean;
}

/** The locks that an async flow is inside of, innermost first. */
export interface Scope {
  readonly lock: LockInScope;
  outer: Scope | undefined;
}

/** Only ever `run`, never `enterWith`: a scope ends with the code it was made for. */
const scopes = sharedByAllCopies('nestjs-fair-lock:hold-scope', () => new AsyncLocalStorage<Scope>());

/** Runs `code`, and everything it starts, inside `lock`. */
export function runInScope<T>(lock: LockInScope, code: () => T): T {
  const outer = currentScope();
  // Ended scopes are forgotten, else a loop that starts each round from inside the last would keep them all.
  if (outer) outer.outer = innermostOpen(outer.outer);
  return scopes.run({ lock, outer }, code);
}

/** The innermost scope of the running flow whose lock is still open. */
export function currentScope(): Scope | undefined {
  return innermostOpen(scopes.getStore());
}

/** `scope` and those around it, as far as they are open. */
export function* openScopes(scope: Scope | undefined): Iterable<Scope> {
  for (let open = innermostOpen(scope); open; open = innermostOpen(open.outer)) yield open;
}

/** The hold on a key, of those `keeper` keeps, that a request made in `scope` nests in: the nearest that is open. */
export function nearestHold(scope: Scope | undefined, keeper: object, encoded: string): Hold | undefined {
  for (let open = innermostOpen(scope); open; open = innermostOpen(open.outer)) {
    for (const hold of open.lock.holds) {
      if (hold.held.keeper === keeper && hold.held.encoded === encoded) return hold;
    }
  }
  return undefined;
}

/** The first of `scope` and those around it whose lock is open. */
export function innermostOpen(scope: Scope | undefined): Scope | undefined {
  while (scope && !scope.lock.open) scope = scope.outer;
  return scope;
}

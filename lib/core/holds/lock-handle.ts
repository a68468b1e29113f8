import { AsyncResource } from 'node:async_hooks';
import { types } from 'node:util';
import { controllerForMany, follow, unfollow } from '../runtime/abort-relay.js';
import { endInReverse, Hold } from './hold.js';
import { runInScope, scopeOfFlow } from '../runtime/async-context.js';
import type { CallSite } from '../runtime/call-site.js';
import { printAs } from '../runtime/printing.js';
import { beginHold, runInHold } from '../diagnostics/diagnostics.js';
import { refuseLazy } from './lazy-result.js';
import { requireSection } from '../options/refusals.js';
import { LockNotHeldError, type LockLostError } from '../errors/errors.js';
import type { FairLock } from './fair-lock.js';
import type { CheckedOptions } from '../options/acquire-options.js';
import type { LeaseState } from '../port/lease.js';

/** From best to worst. */
const STATES: readonly LeaseState[] = ['held', 'uncertain', 'released', 'lost'];

const DONE = Promise.resolve();

/** The handle of one call: a hold for each key. It outlives them: its state and its loss can be read after the release. */
export class LockHandle implements FairLock {
  private ownSignal: SignalOfHandle | undefined;
  /** Emptied by the release. */
  private readonly inside: Inside = { lock: this };
  /** The release, from when it was asked for. */
  private releasing: Promise<void> | undefined;
  /** How many promises of `run` have not settled, and what to do when none is left. */
  private atWork = 0;
  private onIdle: (() => void) | undefined;
  /** Why it was lost before its release. A later loss of the lease concerns only the remaining holds. */
  private lostBeforeRelease: LockLostError | undefined;

  /** One for each key, in the order in which they were taken. */
  readonly holds: readonly Hold[];
  private readonly first: Hold;
  /** The scope in which it was asked for. */
  private readonly outer: Scope | undefined;

  /** @param call for which the holds were taken */
  constructor(
    { scope, options }: { readonly scope: Scope | undefined; readonly options: CheckedOptions },
    taken: Hold | readonly Hold[],
  ) {
    this.outer = scope;
    this.holds = taken instanceof Hold ? [taken] : taken;
    this.first = this.holds[0]!;
    const { holdAtLeast } = options;
    for (const { outermost } of this.holds) {
      if (holdAtLeast > (outermost.keep ?? 0)) outermost.keep = holdAtLeast;
    }
  }

  get key(): string {
    return this.first.grant.key;
  }

  get keys(): readonly string[] {
    return this.holds.map(({ grant }) => grant.key);
  }

  get token(): number | undefined {
    return this.holds.length === 1 ? this.first.grant.token : undefined;
  }

  get tokens(): ReadonlyMap<string, number> {
    const tokens = new Map<string, number>();
    for (const { key, token } of this.holds.map(({ grant }) => grant)) {
      if (token !== undefined) tokens.set(key, token);
    }
    return tokens;
  }

  get state(): LeaseState {
    if (!this.open) return this.lostBeforeRelease ? 'lost' : 'released';
    let worst = 0;
    for (const { grant } of this.holds) worst = Math.max(worst, STATES.indexOf(grant.lease.state));
    return STATES[worst] ?? 'lost';
  }

  get signal(): AbortSignal {
    if (!this.ownSignal) {
      this.ownSignal = new SignalOfHandle(this.inside, this.outer);
      if (this.lostBeforeRelease) this.ownSignal.abort(this.lostBeforeRelease);
      else if (this.open) for (const { grant } of this.holds) follow(grant.lease.signal, this.ownSignal);
    }
    return this.ownSignal.signal;
  }

  get holdCount(): number {
    return this.first.outermost.openHolds;
  }

  /** The loss of one of its keys; undefined while all are held. */
  get lostError(): LockLostError | undefined {
    return this.open ? this.lossOfHolds() : this.lostBeforeRelease;
  }

  private lossOfHolds(): LockLostError | undefined {
    for (const { grant } of this.holds) {
      const lost = grant.lease.lostError;
      if (lost) return lost;
    }
    return undefined;
  }

  remaining(): number {
    return this.open ? Math.min(...this.holds.map(({ grant }) => grant.lease.remaining())) : 0;
  }

  assertHeld(): void {
    const { state } = this;
    if (state === 'held' || state === 'uncertain') return;
    throw this.lostError ?? new LockNotHeldError(this.key);
  }

  release(): Promise<void> {
    // Code of `run` that awaits the release would wait for its own end.
    const awaitsItself = this.atWork > 0 && ownScope(this.inside) !== undefined;
    this.releasing ??= this.atWork === 0 ? this.end() : this.idle().then(() => this.end());
    return awaitsItself ? DONE : this.releasing;
  }

  /** Asks its section to stop: the signal aborts, and the lock stays held. */
  interrupt(reason: Error): void {
    for (const { grant } of this.holds) grant.lease.interrupt(reason);
  }

  run<T>(code: () => T): T {
    requireSection(code, 'lock.run', 'lock.run(() => work())');
    this.assertHeld();
    const settled = (): void => this.settled();
    let result: T | undefined;
    this.atWork += 1;
    try {
      return (result = this.enter(code));
    } finally {
      if (types.isPromise(result)) result.then(settled, settled);
      else settled();
    }
  }

  /** Runs code that its caller awaits before the release; also after a loss, for a section or a stream that may go on then. */
  enter<T>(code: () => T, where = 'The code of lock.run'): T {
    const plain = !this.first.description && this.holds.length === 1;
    return refuseLazy(runInside(this.inside, plain ? code : () => this.runDescribed(code)), where);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** Publishes the beginning of the holds. Not for a handle with a section: `run` does that. */
  begin(site?: CallSite): this {
    for (const hold of this.holds) {
      hold.handOut();
      hold.site = site;
      if (hold.description) beginHold(hold.description);
    }
    return this;
  }

  /** Runs the section inside the wrappers (`around`) that subscribers have set on each hold. */
  private runDescribed<T>(code: () => T): T {
    return this.holds.reduceRight(
      (inner, { description }) => (description ? () => runInHold(description, inner) : inner),
      code,
    )();
  }

  /** From the release on, only code of `run` that is still at work is inside. */
  private get open(): boolean {
    return this.inside.lock !== undefined && (!this.releasing || ownScope(this.inside) !== undefined);
  }

  private end(): Promise<void> {
    // Reading it may call listeners of the loss, which may release the lock.
    const lost = this.lossOfHolds();
    if (!this.inside.lock) return this.releasing ?? DONE;
    this.inside.lock = undefined;
    this.lostBeforeRelease = lost;
    const { ownSignal } = this;
    if (ownSignal) for (const { grant } of this.holds) unfollow(grant.lease.signal, ownSignal);
    return this.holds.length === 1 ? this.first.end() : endInReverse(this.holds);
  }

  private idle(): Promise<void> {
    return new Promise((resolve) => (this.onIdle = resolve));
  }

  private settled(): void {
    this.atWork -= 1;
    if (this.atWork === 0) this.onIdle?.();
  }
}

printAs('FairLock', LockHandle, ({ keys, tokens, state }) => ({
  keys,
  tokens: Object.fromEntries(tokens),
  state,
}));

/**
 * The `signal` of a handle. Its listeners run in the async context of the flow that first read it, but inside the holds of the
 * handle's own code: not in the holds of the branch that read it, nor of the code that detects the loss.
 */
class SignalOfHandle {
  private readonly controller = controllerForMany();
  private readonly caller = new AsyncResource('FairLock.signal');
  private readonly scope: Scope | undefined;

  /** @param outer the scope in which the lock was asked for */
  constructor(inside: Inside, outer: Scope | undefined) {
    this.scope = ownScope(inside) ?? outer;
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  abort(reason: unknown): void {
    this.caller.runInAsyncScope(runInScope, undefined, this.scope, () => this.controller.abort(reason));
  }
}

/**
 * Shared by all scopes of one lock: the lock, until it is released. Code that still runs in these scopes after that is outside of
 * the lock. The field is emptied rather than flagged. Otherwise such code would keep the lock in memory, and with it the flow that
 * took it; a loop that starts each round inside the previous one would keep them all.
 */
interface Inside {
  lock: LockHandle | undefined;
}

/** The locks that an async flow is inside of, innermost first. */
export interface Scope {
  readonly inside: Inside;
  outer: Scope | undefined;
}

/** Runs `code`, and everything it starts, inside a lock. */
function runInside<T>(inside: Inside, code: () => T): T {
  const outer = currentScope();
  // Drops scopes that have ended: a loop that starts each round inside the previous one would keep all of them in memory.
  if (outer) outer.outer = innermostOpen(outer.outer);
  const scope: Scope = { inside, outer };
  return runInScope(scope, code);
}

/** The scope of that lock, if the running flow is in it. */
function ownScope(inside: Inside): Scope | undefined {
  let scope = scopeOfFlow() as Scope | undefined;
  while (scope && scope.inside !== inside) scope = scope.outer;
  return scope;
}

/** The innermost scope of the running flow whose lock is not released. */
export function currentScope(): Scope | undefined {
  return innermostOpen(scopeOfFlow() as Scope | undefined);
}

/** The locks of `scope` and those around it that are not released, innermost first. */
export function* openLocks(scope: Scope | undefined): Iterable<LockHandle> {
  for (; scope; scope = scope.outer) if (scope.inside.lock) yield scope.inside.lock;
}

/** A key that is held around `scope`; undefined outside of holds. With `within`, only a key that is held further inside than that hold. */
export function keyHeldAround(scope: Scope | undefined, within?: Hold): string | undefined {
  const locks = [...openLocks(scope)];
  // `run` may have entered the lock of `within` again from further inside.
  const end = within ? locks.findLastIndex(({ holds }) => holds.includes(within)) : locks.length;
  return locks.slice(0, end).find(({ holds }) => !within || !holds.includes(within))?.key;
}

/** The hold on a key, of those that `keeper` keeps, that a request made in `scope` nests in: the nearest. */
export function nearestHold(scope: Scope, keeper: object, encoded: string): Hold | undefined {
  let nearest: Hold | undefined;
  for (const { holds } of openLocks(scope)) {
    const hold = holds.find((each) => each.keeper === keeper && each.encoded === encoded);
    // `run` may have entered an outer hold again from inside of one that is nested in it.
    if (hold && (!nearest || hold.isInside(nearest))) nearest = hold;
    if (nearest?.free) break;
  }
  return nearest;
}

function innermostOpen(scope: Scope | undefined): Scope | undefined {
  while (scope && !scope.inside.lock) scope = scope.outer;
  return scope;
}

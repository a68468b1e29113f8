import type { LeaseState } from '../port/lease.js';

/**
 * The handle of a held lock. With `run`, any code can be inside the hold, as often as needed: the steps of a stream, or of work that begins
 * in one request and ends in another.
 *
 * A nested request (for a key that its flow already holds) returns another handle on the same lease: same token, same
 * state, released separately.
 */
export interface FairLock extends AsyncDisposable {
  /** The first, or only, key. */
  readonly key: string;

  /** The keys as requested, without duplicates, in the order in which they were locked. */
  readonly keys: readonly string[];

  /** The fencing token; undefined for several keys (see `tokens`) and for a store without tokens. */
  readonly token: number | undefined;

  /** The fencing tokens by key; empty for a store without tokens. */
  readonly tokens: ReadonlyMap<string, number>;

  /** The current state, according to this process's clocks. With several keys, the worst of them: if one key is lost, the whole lock is lost. */
  readonly state: LeaseState;

  /**
   * Aborts with a `LockLostError` when a key is lost or `maxHold` has elapsed, and with a `LockShuttingDownError` when
   * `drainTimeout` has elapsed; for a leader (`lead`) when the shutdown begins, and with an `AbortError` when
   * `stop()` is called. Never aborts by release. Its listeners run in the async context of the flow that
   * first asked for it, inside this hold if the flow is in it.
   */
  readonly signal: AbortSignal;

  /** Open holds on `key` by this flow, nested ones included: 1 for the outermost alone. */
  readonly holdCount: number;

  /**
   * Runs `code`, and all that it starts, inside the hold, and returns its result: a request there for the same key is nested. A release
   * waits until the promise of `code` has settled.
   *
   * @throws LockLostError or LockNotHeldError, as `assertHeld`, if the lock is no longer held; `code` does not run
   * @throws LockConfigurationError for code that is no function; also, or rejects with it, for a result that would work outside of the hold: an Observable, a generator, a stream
   */
  run<T>(code: () => T): T;

  /** Milliseconds for which the holder can still act, the smallest of all keys; 0 when lost or released. */
  remaining(): number;

  /**
   * Passes while held, even while `uncertain`. Synchronous, because no signal can fire in a blocked event loop: call it
   * right before a step that must not happen unlocked.
   *
   * @throws LockLostError if a key was lost
   * @throws LockNotHeldError if it was released
   */
  assertHeld(): void;

  /**
   * Releases the lock; idempotent, never rejects. The lock is kept while code of `run` is at work; new code is rejected. Resolves when the
   * store has acknowledged the release, or given up trying; immediately if an outer or nested hold of the same flow keeps the lock, and in code of `run`.
   */
  release(): Promise<void>;
}

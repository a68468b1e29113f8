import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { CheckedOptions } from '../options/acquire-options.js';
import type { Share } from '../options/sharing.js';
import { FairLockError, type FairLockErrorCode } from '../errors/errors.js';

/**
 * Publishes the events of locks. The messages of waits and holds are made only while their channels have subscribers
 * (`hasSubscribers`), so they cost nothing otherwise. Subscribers must not throw.
 *
 * `fairlock:wait` and `fairlock:hold` are tracing channels: `start` is published when it begins, `error` if it fails, and
 * `asyncEnd` when it has ended. The message is one object from beginning to end. `fairlock:event` is a plain channel.
 */
export const waitChannel = tracingChannel<WaitDescription, WaitDescription>('fairlock:wait');
export const holdChannel = tracingChannel<HoldDescription, HoldDescription>('fairlock:hold');
export const eventChannel = channel('fairlock:event');

/** `skipped`: as `timeout`, of a caller that continues without the lock (`onTimeout: 'skip'`, `tryAcquire`). */
export type WaitOutcome = 'granted' | 'skipped' | 'timeout' | 'aborted' | 'full' | 'unavailable' | 'refused';
export type HoldOutcome = 'released' | 'lost' | 'max-hold';

/** One request for one key, from the call to the grant or the rejection. Times are `performance.now()`, in ms. */
export interface WaitDescription {
  readonly key: string;
  /** The name under which metrics count it: the template of the key, the `group` of the call, or `other`. */
  readonly lock: string;
  readonly label: string;
  /** With whom it would share the lock; undefined: alone. */
  readonly share: Share | undefined;
  readonly startedAt: number;
  /** How many requests were ahead when it was put in the queue; undefined: it was not in the queue. */
  ahead?: number;
  endedAt?: number;
  outcome?: WaitOutcome;
  /** Why it was rejected. */
  error?: unknown;
  /** A subscriber can set it: `query` shows it to people who look for the trace. */
  traceId?: string;
}

/** One grant, from the beginning of its section to its end. Times are `performance.now()`, in ms. */
export interface HoldDescription {
  readonly key: string;
  readonly lock: string;
  readonly label: string;
  /** With whom it holds the lock; undefined: alone. */
  readonly share: Share | undefined;
  readonly startedAt: number;
  /** The fencing token; undefined for a store without tokens, and for a shared hold. */
  readonly token: number | undefined;
  /** Milliseconds in the queue. */
  readonly waited: number;
  /** Whether it is the term of a leader (`lead`), which can last for days. */
  readonly term: boolean;
  endedAt?: number;
  outcome?: HoldOutcome;
  /** A subscriber can set it: `query` shows it to people who look for the trace. */
  traceId?: string;
  /** A subscriber can set it at `start`: it then runs the section, for example inside of a span. */
  around?: <T>(section: () => T) => T;
}

/** An event other than waits and holds. */
export type LockEvent =
  | { readonly type: 'queued'; readonly key: string; readonly lock: string; readonly ahead: number }
  | {
      readonly type: 'granted';
      readonly key: string;
      readonly lock: string;
      readonly token: number | undefined;
    }
  | { readonly type: 'lost'; readonly key: string; readonly lock: string; readonly why: string }
  | { readonly type: 'uncertain'; readonly key: string }
  | { readonly type: 'slow-wait'; readonly key: string; readonly lock: string; readonly waitingFor: number }
  | { readonly type: 'slow-hold'; readonly key: string; readonly lock: string; readonly heldFor: number }
  | { readonly type: 'passed-over'; readonly key: string }
  | { readonly type: 'forced'; readonly key: string }
  | { readonly type: 'store-failure'; readonly failure: string }
  | { readonly type: 'store-recovery' };

export function emit(event: LockEvent): void {
  if (eventChannel.hasSubscribers) eventChannel.publish(event);
}

/** A request begins to wait. */
export function beginWait(
  { key, share }: { readonly key: string; readonly share?: Share | undefined },
  { lock, label }: CheckedOptions,
): WaitDescription {
  const wait: WaitDescription = { key, lock, label, share, startedAt: performance.now() };
  waitChannel.start.publish(wait);
  return wait;
}

/**
 * @param error absent: it was granted
 * @param skips whether the caller continues without the lock when `waitTime` has elapsed
 */
export function endWait(wait: WaitDescription, error: unknown, skips: boolean): void {
  wait.endedAt = performance.now();
  wait.outcome = error === undefined ? 'granted' : outcomeOf(error);
  if (skips && wait.outcome === 'timeout') wait.outcome = 'skipped';
  else if (error !== undefined) {
    wait.error = error;
    waitChannel.error.publish(wait);
  }
  waitChannel.asyncEnd.publish(wait);
}

/** A lock was granted; its section has not begun. */
export function newHold(
  { key, token, waited }: Pick<HoldDescription, 'key' | 'token' | 'waited'>,
  share: Share | undefined,
  { lock, label, lasting: term }: CheckedOptions,
): HoldDescription {
  return { key, lock, label, share, startedAt: performance.now(), token, waited, term };
}

/** Those whose beginning was published. A grant may be released before its section begins, and that is no hold. */
const begun = new WeakSet<HoldDescription>();

/** Publishes the beginning of a hold whose code runs elsewhere. */
export function beginHold(hold: HoldDescription): void {
  begun.add(hold);
  holdChannel.start.publish(hold);
}

/**
 * Runs code of a hold. The first time, unless `beginHold` has published its beginning, publishes it and runs the code with the stores
 * that subscribers have bound to the channel.
 */
export function runInHold<T>(hold: HoldDescription, code: () => T): T {
  const run = (): T => (hold.around ? hold.around(code) : code());
  if (begun.has(hold)) return run();
  begun.add(hold);
  return holdChannel.start.runStores(hold, run);
}

export function endHold(hold: HoldDescription, outcome: HoldOutcome): void {
  if (!begun.has(hold)) return;
  hold.endedAt = performance.now();
  hold.outcome = outcome;
  holdChannel.asyncEnd.publish(hold);
}

const OUTCOMES: { readonly [code in FairLockErrorCode]?: WaitOutcome } = {
  WAIT_TIMEOUT: 'timeout',
  ABORTED: 'aborted',
  SHUTTING_DOWN: 'aborted',
  QUEUE_FULL: 'full',
  STORE_UNAVAILABLE: 'unavailable',
  NOT_REPLICATED: 'unavailable',
  PROTOCOL: 'unavailable',
};

function outcomeOf(error: unknown): WaitOutcome {
  return (error instanceof FairLockError && OUTCOMES[error.code]) || 'refused';
}

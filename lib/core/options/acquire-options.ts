import { LockConfigurationError } from '../errors/errors.js';
import { withPage } from '../errors/pages.js';
import { detached } from '../runtime/async-context.js';
import { printable, withWholeFigures } from '../errors/text.js';
import { describeDomain, wholeNumber, type NumberOption } from './option-domains.js';
import { refuseValue, requireOptions } from './refusals.js';
import { shareOf, type Share, type SharingOptions } from './sharing.js';

/** How many characters of a `group` are kept: metrics keep each name for as long as the process runs. */
const LONGEST_GROUP = 128;

/** The options of an engine: those that apply where a call gives none, and some for all calls together. */
export interface EngineDefaults extends Pick<
  CheckedOptions,
  'waitTime' | 'maxQueue' | 'maxHold' | 'onLost' | 'reentrant'
> {
  /** Milliseconds that holds have to end, counted from the beginning of a shutdown. */
  drainTimeout: number;
  /** Milliseconds of a lease that is renewed; absent: it does not run out. */
  lease?: number;
  /** Milliseconds after which one warning about a wait, or a hold, is logged; absent or `Infinity`: never. */
  slowWait?: number;
  slowHold?: number;
  /** Absent: `'handler'`. */
  requestScope?: RequestScope;
  /** Whether requests run in a scope that knows their client, so that a call may say `requestScope: 'deep'`; absent: nothing knows it. */
  knowsClients?: boolean;
  /** Times the end of a shutdown; returns what cancels it. Absent: by the global setTimeout. */
  timer?: (code: () => void, ms: number) => () => void;
  /** Called with warnings for the operator, which no caller receives: a lost lock, a hold past `maxHold`. */
  onWarning: (message: string, detail?: object) => void;
  /** Called instead of `onWarning` with what still holds a lock when the engine has closed. */
  onLeft?: (message: string) => void;
}

/**
 * How one call asks for a lock. Absent options take the engine's defaults. Times are milliseconds; a part of one counts as a whole one.
 * A number above 2,147,483,647 (24.8 days) is rejected; `Infinity` is accepted where an option says so. Unless it says otherwise, an option
 * applies to the service, the decorator and the interceptor.
 */
export type AcquireOptions = CallOptions & SharingOptions;

/** Which waits end when the client of a request goes away. */
export type RequestScope = 'handler' | 'deep' | false;

/** The options of a call, without those that say how it shares the lock. */
export interface CallOptions {
  /**
   * How long to stay in the queue, for all keys together, in ms: 0 (try once) or more, or `Infinity` (forever). Default: the module's, which
   * is 45,000 unless set. Also limits a nested request that waits for another branch of its flow.
   */
  waitTime?: number | undefined;
  /**
   * A fixed lease in ms that is never renewed: 1 or more. Default: none, the lease is renewed until the release. With several keys it counts
   * from when all are held. Without effect on a nested request, which lives on the lease of the outermost hold.
   */
  leaseTime?: number | undefined;
  /**
   * Minimum time, from the grant, before another request can get the lock, in ms by the clock of the store: 0 or more. If the hold ends
   * earlier, with a result or an error, the lock is kept until then: nobody holds it, waiters wait, a try is rejected, and `forceRelease`
   * ends it. For a job that several instances start at nearly the same moment when only one should run it. Not after a loss or a crash:
   * then the lease decides. Default: 0. Of nested holds the longest counts, when the outermost ends.
   */
  holdAtLeast?: number | undefined;
  /** Takes the request out of the queue when it aborts; without effect after the grant. Default: none. Only for calls of the service. */
  signal?: AbortSignal | undefined;
  /**
   * Whether a request for a key that its flow holds is nested in that hold. `false`: it fails with a LockDeadlockError. Default: the
   * module's, which is true unless set.
   */
  reentrant?: boolean | undefined;
  /**
   * How many requests can wait before this one is rejected with a LockQueueFullError: a whole number from 0, or `Infinity`. Default: the
   * module's, which is `Infinity` unless set. Counts the queue of each key; for a nested request, the queue inside its flow.
   */
  maxQueue?: number | undefined;
  /**
   * How long the hold can last, in ms: 1 or more, or `Infinity`. Counts from when all keys of the call are held. Then its signal aborts and
   * renewing stops, so that a hung section cannot hold forever: the lock is lost when its lease expires. Default: the module's, which is
   * `Infinity` unless set. A nested hold counts from its own beginning, and ends the lock for those around it as well.
   */
  maxHold?: number | undefined;
  /**
   * When the lock is lost while a section runs: `signal` aborts `lock.signal` and lets the section's result through; `reject` rejects with the
   * LockLostError once the section has ended, even if it succeeded. Default: the module's, which is `signal` unless set. For
   * `withLock`, decorator and interceptor: a handle of `acquire` has no section.
   */
  onLost?: 'signal' | 'reject' | undefined;
  /**
   * Whether this call leaves the queue when the client of the running HTTP, WebSocket or gRPC request goes away: see the option of the module.
   * `'handler'`: if it is the lock of the handler itself, by decorator or interceptor; without effect elsewhere. `'deep'`: also in a service,
   * outside of holds; a call of the service may say so only if the module does, or a decorated method. `false`: it keeps waiting. Default:
   * the module's, which is `'handler'` unless set.
   */
  requestScope?: RequestScope | undefined;
  /**
   * Called when the request is put in a queue (with several keys: in each queue), with the number of requests served before it, from 0.
   * Default: none. Only for calls of the service.
   */
  onQueued?: ((position: number) => void) | undefined;
  /**
   * Name of the caller for people who read `inspect`, errors and logs: `OrdersService.pay`. Default: for a decorated method its class and
   * name, else none. Only for calls of the service.
   */
  label?: string | undefined;
  /**
   * The name under which metrics count the lock, instead of its key: one of the few names in the code. Default: for a decorated
   * method the template of its key (`order:<0.id>`), else `other`. At most 128 characters are kept. Only for calls of the service.
   */
  group?: string | undefined;
}

/** The options that only calls of the service take. */
export type OptionOfService = 'signal' | 'onQueued' | 'label' | 'group';

/** The options that decorators and interceptors take as well. */
export const COMMON_OPTIONS: readonly Exclude<keyof AcquireOptions, OptionOfService>[] = [
  'waitTime',
  'leaseTime',
  'holdAtLeast',
  'maxQueue',
  'maxHold',
  'onLost',
  'reentrant',
  'requestScope',
  'permits',
  'weight',
  'mode',
];

/** Marks the options of a decorated method that skips its work when `waitTime` has elapsed. The same symbol in every copy of this package. */
export const SKIPS = Symbol.for('nestjs-fair-lock:skips');

/** In the options of a handler's own lock: the handler, by which the call finds its request. The same symbol in every copy of this package. */
export const HANDLER = Symbol.for('nestjs-fair-lock:handler');

const CALL_OPTIONS = [...COMMON_OPTIONS, 'signal', 'onQueued', 'label', 'group'] as const;

/**
 * Rounds the figures of the details. Catches errors of the logger: they must not cost a caller its lock, and nothing may throw out of a
 * timer.
 */
export function withSafeWarnings(defaults: EngineDefaults): EngineDefaults {
  return {
    ...defaults,
    onWarning: (message, detail) => {
      try {
        detached(() => defaults.onWarning(message, detail && withWholeFigures(detail)));
      } catch {
        // The logger itself failed, so there is no place to report it.
      }
    },
  };
}

/** The name under which metrics count locks that have no name. */
const OTHER = 'other';

/** The options of a call, checked, with the defaults of the engine in place of those that are absent. */
export interface CheckedOptions
  extends
    Given<
      'waitTime' | 'holdAtLeast' | 'maxQueue' | 'maxHold' | 'onLost' | 'reentrant' | 'requestScope' | 'label'
    >,
    Readonly<Pick<CallOptions, 'leaseTime' | 'signal' | 'onQueued'>> {
  /** How it shares the lock with others; undefined: it holds the lock alone. */
  readonly share: Share | undefined;
  /** The name under which metrics count the lock. */
  readonly lock: string;
  /** The caller skips its work when `waitTime` has elapsed: that is not a failure, and nobody is warned. */
  readonly skips: boolean;
  /** The request that it handles ends the wait; undefined: none does, as for every call of the service. */
  readonly handler: object | undefined;
  /** The call is meant to wait and hold for long: it triggers no warning, and does not count as the oldest wait. */
  readonly lasting: boolean;
}

type Given<Names extends keyof CallOptions> = {
  readonly [Name in Names]: Exclude<CallOptions[Name], undefined>;
};

const NOT_DEEP =
  "The lock option requestScope of a call is 'deep', but the module does not know the clients of requests, so the call would keep waiting " +
  "when its client has gone. Set requestScope: 'deep' in FairLockModule.forRoot(), or pass a signal.";

/** @throws LockConfigurationError for an option that cannot work; `of` says in it whose option it is */
export function checkOptions(
  options: AcquireOptions,
  defaults: EngineDefaults,
  lasting = false,
  of = 'The lock option',
): CheckedOptions {
  const refuse = (option: string, expected: string, got: unknown): never =>
    refuseValue(`${of} ${option}`, expected, got);
  const whole = (option: NumberOption, value: unknown): number =>
    wholeNumber(option, value) ?? refuse(option, describeDomain(option), value);
  requireOptions(options, CALL_OPTIONS, 'lock');
  const { leaseTime, label = '', group = OTHER, signal, onQueued } = options;
  const { holdAtLeast = 0, requestScope = defaults.requestScope ?? 'handler' } = options;
  // Not by `??`: null would count as absent.
  const { waitTime = defaults.waitTime, maxQueue = defaults.maxQueue, maxHold = defaults.maxHold } = options;
  const { onLost = defaults.onLost, reentrant = defaults.reentrant } = options;
  if (onLost !== 'signal' && onLost !== 'reject') refuse('onLost', "'signal' or 'reject'", onLost);
  if (typeof reentrant !== 'boolean') refuse('reentrant', 'true or false', reentrant);
  if (requestScope !== 'handler' && requestScope !== 'deep' && requestScope !== false)
    refuse('requestScope', "'handler', 'deep' or false", requestScope);
  if (requestScope === 'deep' && defaults.knowsClients === false) throw new LockConfigurationError(NOT_DEEP);
  if (typeof label !== 'string') refuse('label', 'a string', label);
  if (typeof group !== 'string') refuse('group', 'a string', group);
  if (signal !== undefined && !isAbortSignal(signal)) refuse('signal', 'an AbortSignal', signal);
  if (onQueued !== undefined && typeof onQueued !== 'function') refuse('onQueued', 'a function', onQueued);
  return {
    waitTime: whole('waitTime', waitTime),
    leaseTime: leaseTime === undefined ? undefined : whole('leaseTime', leaseTime),
    holdAtLeast: whole('holdAtLeast', holdAtLeast),
    maxQueue: whole('maxQueue', maxQueue),
    maxHold: whole('maxHold', maxHold),
    onLost,
    reentrant,
    requestScope,
    share: shareOf(options, of),
    label: printable(label),
    lock: group.slice(0, LONGEST_GROUP),
    signal,
    onQueued: onQueued && guarded(onQueued, defaults),
    skips: SKIPS in options,
    handler: requestScope === false ? undefined : (options as { readonly [HANDLER]?: object })[HANDLER],
    lasting,
  };
}

const ANY_DEFAULTS: EngineDefaults = {
  waitTime: 0,
  maxQueue: 0,
  maxHold: 1,
  onLost: 'signal',
  reentrant: true,
  drainTimeout: 0,
  onWarning: () => undefined,
};

/**
 * Checks the options of all calls of a method or handler, before there is an engine.
 *
 * @throws LockConfigurationError for an option that can work in none
 */
export function checkOptionsOf(where: string, options: AcquireOptions): void {
  checkOptions(options, ANY_DEFAULTS, false, `On ${where}, the lock option`);
}

/** Catches errors of the callback, even an async one: they must not cost its caller the place in the queue, nor end the process. */
function guarded(onQueued: (position: number) => void, defaults: EngineDefaults): (position: number) => void {
  const failed = (error: unknown): void =>
    defaults.onWarning(withPage('onQueued threw; the request stays in the queue.', 'service#acquire'), {
      error,
    });
  return (position) => {
    try {
      const returned: unknown = onQueued(position);
      if (returned instanceof Promise) returned.catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}

/** Checks the shape and not the class: a signal may come from another realm or a polyfill. */
function isAbortSignal(value: AbortSignal | null): boolean {
  if (typeof value !== 'object' || value === null || !('aborted' in value)) return false;
  return typeof value.addEventListener === 'function' && typeof value.removeEventListener === 'function';
}

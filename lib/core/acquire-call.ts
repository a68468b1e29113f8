import { AsyncResource } from 'node:async_hooks';
import { type AcquireOptions, type EngineDefaults } from './acquire-options.js';
import { LockConfigurationError } from './errors.js';
import type { Hold } from './hold.js';
import { currentScope, type Scope } from './hold-scope.js';
import { describeDomain, wholeNumber, type NumberOption } from './option-domains.js';
import { currentClient, type RequestClient } from './request-scope.js';
import { printable, shown } from './text.js';

/** The options of a call, checked, with the defaults of the engine in place of those that are absent. */
export class CheckedOptions {
  readonly waitTime: number;
  readonly leaseTime: number | undefined;
  readonly maxQueue: number;
  readonly maxHold: number;
  readonly onLost: 'signal' | 'reject';
  readonly reentrant: boolean;
  readonly requestScope: boolean;
  readonly owner: string | undefined;
  readonly label: string;
  readonly group: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** Never throws. */
  readonly onQueued: ((position: number) => void) | undefined;

  /** @throws LockConfigurationError for an option that cannot work */
  constructor(options: AcquireOptions, defaults: EngineDefaults) {
    if (typeof options !== 'object' || options === null) refuse('options', 'an object', options);
    const { leaseTime, requestScope = true, owner, label = '', group, signal, onQueued } = options;
    this.waitTime = whole('waitTime', options.waitTime ?? defaults.waitTime);
    this.leaseTime = leaseTime === undefined ? undefined : whole('leaseTime', leaseTime);
    this.maxQueue = whole('maxQueue', options.maxQueue ?? defaults.maxQueue);
    this.maxHold = whole('maxHold', options.maxHold ?? defaults.maxHold);
    this.onLost = options.onLost ?? defaults.onLost;
    if (this.onLost !== 'signal' && this.onLost !== 'reject') {
      refuse('onLost', "'signal' or 'reject'", this.onLost);
    }
    this.reentrant = options.reentrant ?? defaults.reentrant;
    if (typeof this.reentrant !== 'boolean') refuse('reentrant', 'true or false', this.reentrant);
    if (typeof requestScope !== 'boolean') refuse('requestScope', 'true or false', requestScope);
    this.requestScope = requestScope;
    if (owner !== undefined && (typeof owner !== 'string' || owner === '')) {
      refuse('owner', 'a string that is not empty (all who pass it are one owner)', owner);
    }
    this.owner = owner;
    if (typeof label !== 'string') refuse('label', 'a string', label);
    this.label = printable(label);
    if (group !== undefined && typeof group !== 'string') refuse('group', 'a string', group);
    this.group = group;
    if (signal !== undefined && !isAbortSignal(signal)) refuse('signal', 'an AbortSignal', signal);
    this.signal = signal;
    if (onQueued !== undefined && typeof onQueued !== 'function') refuse('onQueued', 'a function', onQueued);
    this.onQueued = onQueued && guarded(onQueued, defaults);
  }
}

/** One call of an engine: its options, its scope and its owner. */
export class AcquireCall {
  /** When the call was made, on the monotonic clock. */
  readonly askedAt = performance.now();
  /** Milliseconds for which it may wait. */
  readonly waitTime: number;
  /** The client that takes the request out of the line when it goes away. */
  readonly client: RequestClient | undefined;
  /** The holds that the asking flow is inside of. */
  readonly scope: Scope | undefined = currentScope();
  /** What a call for several keys holds already while it waits for the next. */
  taken: readonly Hold[] | undefined;
  /** Runs `onQueued` in the async context of the call. */
  private readonly caller: AsyncResource | undefined;

  /** @param waitTime in place of the option */
  constructor(
    readonly options: CheckedOptions,
    waitTime = options.waitTime,
  ) {
    this.waitTime = waitTime;
    const client = options.requestScope ? currentClient() : undefined;
    this.client = client?.awaitsAnswer ? client : undefined;
    this.caller = options.onQueued && new AsyncResource('FairLock.onQueued');
  }

  /** When the wait is over, on the monotonic clock. */
  get deadline(): number {
    return this.askedAt + this.waitTime;
  }

  /** Milliseconds left to wait. */
  remaining(): number {
    return Math.max(0, this.deadline - performance.now());
  }

  /** Reports its place to the caller. */
  queued(ahead: number): void {
    if (this.options.onQueued) this.caller?.runInAsyncScope(this.options.onQueued, undefined, ahead);
  }
}

/** @throws LockConfigurationError for what is outside the option's domain */
function whole(option: NumberOption, value: unknown): number {
  return wholeNumber(option, value) ?? refuse(option, describeDomain(option), value);
}

/** A callback that throws must not cost its caller the place in line, nor throw into a store. */
function guarded(onQueued: (position: number) => void, defaults: EngineDefaults): (position: number) => void {
  return (position) => {
    try {
      onQueued(position);
    } catch (error) {
      defaults.onWarning('onQueued threw; the request stays in line.', { error });
    }
  };
}

/** By shape: a signal may come from another realm or a polyfill. */
function isAbortSignal(value: AbortSignal | null): boolean {
  return typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value;
}

function refuse(option: string, expected: string, got: unknown): never {
  throw new LockConfigurationError(
    `${option === 'options' ? 'The options of a lock' : `The lock option ${option}`} must be ${expected}; it is ${shown(got)}.`,
  );
}

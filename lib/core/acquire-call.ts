import { AsyncResource } from 'node:async_hooks';
import { inspect } from 'node:util';
import { type AcquireOptions, type EngineDefaults } from './acquire-options.js';
import { LockConfigurationError } from './errors.js';
import type { Hold } from './hold.js';
import { currentScope, type Scope } from './hold-scope.js';
import { describeDomain, wholeNumber, type NumberOption } from './option-domains.js';
import { currentClient, type RequestClient } from './request-scope.js';
import { printable } from './text.js';

/** One call of an engine: its checked options, its scope and its owner. */
export class AcquireCall {
  readonly waitTime: number;
  /** When the call was made, on the monotonic clock. */
  readonly askedAt: number;
  /** When the wait is over, on the monotonic clock. */
  readonly deadline: number;
  readonly leaseTime: number | undefined;
  readonly maxQueue: number;
  readonly maxHold: number;
  readonly onLost: 'signal' | 'reject';
  readonly reentrant: boolean;
  readonly owner: string | undefined;
  readonly label: string;
  readonly group: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** The client that takes the request out of the line when it goes away. */
  readonly client: RequestClient | undefined;
  readonly onQueued: ((position: number) => void) | undefined;
  /** The holds that the asking flow is inside of. */
  readonly scope: Scope | undefined = currentScope();
  /** What a call for several keys holds already while it waits for the next. */
  taken: readonly Hold[] | undefined;

  /**
   * @param waitTime in place of the option
   * @throws LockConfigurationError for an option that cannot work
   */
  constructor(options: AcquireOptions, defaults: EngineDefaults, waitTime?: number) {
    if (typeof options !== 'object' || options === null) refuse('options', 'an object', options);
    this.waitTime = whole('waitTime', waitTime ?? options.waitTime ?? defaults.waitTime);
    this.leaseTime = options.leaseTime === undefined ? undefined : whole('leaseTime', options.leaseTime);
    this.maxQueue = whole('maxQueue', options.maxQueue ?? defaults.maxQueue);
    this.maxHold = whole('maxHold', options.maxHold ?? defaults.maxHold);
    this.onLost = options.onLost ?? defaults.onLost;
    this.reentrant = options.reentrant ?? defaults.reentrant;
    this.owner = options.owner;
    this.label = typeof options.label === 'string' ? printable(options.label) : (options.label ?? '');
    this.group = options.group;
    this.signal = options.signal;
    this.onQueued = options.onQueued;
    const { requestScope = true } = options;
    this.check(requestScope);
    const client = requestScope ? currentClient() : undefined;
    this.client = client?.awaitsAnswer ? client : undefined;
    this.onQueued = options.onQueued && guarded(options.onQueued, defaults);
    this.askedAt = performance.now();
    this.deadline = this.askedAt + this.waitTime;
  }

  /** Milliseconds left to wait. */
  remaining(): number {
    return Math.max(0, this.deadline - performance.now());
  }

  /** Everything is checked before anything is queued. */
  private check(requestScope: boolean): void {
    const { onLost, reentrant, owner, label, group, signal, onQueued } = this;
    if (onLost !== 'signal' && onLost !== 'reject') refuse('onLost', "'signal' or 'reject'", onLost);
    if (typeof reentrant !== 'boolean') refuse('reentrant', 'true or false', reentrant);
    if (typeof requestScope !== 'boolean') refuse('requestScope', 'true or false', requestScope);
    if (owner !== undefined && (typeof owner !== 'string' || owner === '')) {
      refuse('owner', 'a string that is not empty (all who pass it are one owner)', owner);
    }
    if (typeof label !== 'string') refuse('label', 'a string', label);
    if (group !== undefined && typeof group !== 'string') refuse('group', 'a string', group);
    if (signal !== undefined && !isAbortSignal(signal)) refuse('signal', 'an AbortSignal', signal);
    if (onQueued !== undefined && typeof onQueued !== 'function') refuse('onQueued', 'a function', onQueued);
  }
}

/** @throws LockConfigurationError for what is outside the option's domain */
function whole(option: NumberOption, value: unknown): number {
  return wholeNumber(option, value) ?? refuse(option, describeDomain(option), value);
}

/** Runs in the context of the call. A callback that throws must not cost its caller the place in line, nor throw into a store. */
function guarded(onQueued: (position: number) => void, defaults: EngineDefaults): (position: number) => void {
  const caller = new AsyncResource('FairLock.onQueued');
  return (position) => {
    try {
      caller.runInAsyncScope(onQueued, undefined, position);
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
    `${option === 'options' ? 'The options of a lock' : `The lock option ${option}`} must be ${expected}; it is ${inspect(got, { depth: 0, breakLength: Infinity })}.`,
  );
}

import { AsyncResource } from 'node:async_hooks';
import { emit, type WaitDescription } from '../diagnostics/diagnostics.js';
import { currentScope, keyHeldAround, type Scope } from '../holds/lock-handle.js';
import type { Hold } from '../holds/shared-grants.js';
import type { CheckedOptions } from '../options/acquire-options.js';
import type { AbortListener, AbortSource, LockRequest } from '../port/lock-store.js';
import { follow, unfollow } from '../runtime/abort-relay.js';
import { currentClient, detached, type RequestClient } from '../runtime/async-context.js';
import type { Linked } from '../runtime/linked-list.js';

/**
 * One call of an engine: its options and its scope. It differs from a `Wait` in its life and its keys: a call may take several keys, and so
 * stands in several lines one after the other.
 */
export class AcquireCall {
  /** Milliseconds for which it may wait. */
  readonly waitTime: number;
  /** When the wait is over, on the monotonic clock. */
  readonly deadline: number;
  /** The client of the request: when it goes away, the request leaves the line. */
  readonly client: RequestClient | undefined;
  /** The holds that the asking flow is inside of. */
  readonly scope: Scope | undefined = currentScope();
  /** The holds that a call for several keys has already while it waits for the next key. */
  taken: readonly Hold[] | undefined;
  /** Reports its place to the caller, in the async context of the call. */
  readonly queued: CheckedOptions['onQueued'];
  /** The description of its present wait for diagnostics, if there were subscribers. */
  description: WaitDescription | undefined;

  /** @param waitTime in place of the option */
  constructor(
    readonly options: CheckedOptions,
    waitTime = options.waitTime,
  ) {
    this.waitTime = waitTime;
    this.deadline = performance.now() + waitTime;
    const client = options.requestScope ? currentClient() : undefined;
    this.client = client?.awaitsAnswer ? client : undefined;
    this.queued = options.onQueued && AsyncResource.bind(options.onQueued, 'FairLock.onQueued');
  }

  /** Whether the caller is inside a hold right now. */
  get insideHold(): boolean {
    return keyHeldAround(this.scope) !== undefined;
  }
}

/**
 * One wait in one line, and what may end it from outside: the caller, the client that went away, the engine.
 *
 * It differs from the `Waiter` of that line in two facts: the engine knows it before it is in the line, and it hears of the caller, of the
 * client and of a shutdown, where the line learns only of an abort.
 */
export class Wait implements LockRequest, AbortSource, Linked<Wait> {
  previous: Wait | undefined;
  next: Wait | undefined;

  /** Where it was put in line, and what the store calls it there; undefined while it is not in a line. */
  place: { readonly ahead: number; readonly id?: string | undefined } | undefined;
  /** Whether a warning of its length was given. */
  warned = false;
  aborted = false;
  reason: unknown;
  /** The listener of the line in which it stands; it stands in one line at a time. */
  private listener: AbortListener | undefined;
  /** Aborts when the client of the request goes away. Listened to only while in line. */
  private leaving: AbortSignal | undefined;

  /** When it began, on the monotonic clock: a call for several keys stands in one line after the other. */
  readonly since = performance.now();
  /** What is left of the wait time of the call. */
  readonly waitTime: number;
  readonly leaseTime: number | undefined;
  readonly alone: boolean;
  readonly maxQueue: number;
  readonly label: string;
  readonly signal: AbortSource = this;

  constructor(
    readonly key: string,
    readonly call: AcquireCall,
  ) {
    const { leaseTime, holdAtLeast, maxQueue, label, signal } = call.options;
    this.waitTime = Math.max(0, call.deadline - this.since);
    this.leaseTime = leaseTime;
    this.alone = holdAtLeast > 0;
    this.maxQueue = maxQueue;
    this.label = label;
    if (signal) follow(signal, this);
  }

  /** The request is in line from now on, behind `ahead` others. A request inside a hold goes on waiting when its client goes away. */
  onQueued(ahead: number, id?: string): void {
    this.place = { ahead, id };
    if (this.call.description) this.call.description.ahead = ahead;
    emit({ type: 'queued', key: this.key, lock: this.call.options.lock, ahead });
    this.leaving = this.call.insideHold ? undefined : this.call.client?.leaving();
    if (this.leaving) follow(this.leaving, this);
    this.call.queued?.(ahead);
  }

  /** Leaves the line; the request is refused with `reason`, or with an error that contains it. */
  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const { listener } = this;
    this.listener = undefined;
    if (listener) detached(() => listener.handleEvent());
  }

  addEventListener(_type: 'abort', listener: AbortListener): void {
    this.listener = listener;
  }

  removeEventListener(_type: 'abort', listener: AbortListener): void {
    if (this.listener === listener) this.listener = undefined;
  }

  /** The request is out of the line: stops listening to its caller and its client. */
  end(): void {
    const { signal } = this.call.options;
    if (signal) unfollow(signal, this);
    if (this.leaving) unfollow(this.leaving, this);
  }
}

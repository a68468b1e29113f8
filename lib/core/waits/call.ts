import { AsyncResource } from 'node:async_hooks';
import { emit, type WaitDescription } from '../diagnostics/diagnostics.js';
import { currentScope, keyHeldAround, openLocks, type Scope } from '../holds/lock-handle.js';
import type { Hold } from '../holds/hold.js';
import type { CheckedOptions } from '../options/acquire-options.js';
import type { Caller, Wait } from '../port/wait.js';
import { follow, unfollow } from '../runtime/abort-relay.js';
import { currentClient, type Leaving, requestFor } from '../runtime/async-context.js';
import type { Linked } from '../runtime/linked-list.js';

/** One call of an engine. With several keys it waits in several queues, one after the other. */
export class Call implements Linked<Call>, Caller {
  previous: Call | undefined;
  next: Call | undefined;
  /** Its present wait. */
  wait: Wait<unknown> | undefined;
  /** How many were ahead when that was put in the queue; undefined while it is not in a queue of the store. */
  ahead: number | undefined;
  /** A holder whose process was found gone, and when its lease ends (monotonic). */
  gone: { readonly holder: string; readonly until: number } | undefined;
  /** Whether a warning of its length was given. */
  warned = false;
  /** The description of the wait for diagnostics, if there were subscribers. */
  description: WaitDescription | undefined;
  /** Whether its caller continues without the lock when the wait has ended. */
  readonly skips: boolean;
  /** Milliseconds for which it may wait. */
  readonly waitTime: number;
  /** When the wait ends, on the monotonic clock. */
  readonly deadline: number;
  /** The holds that the asking flow is inside of. */
  readonly scope: Scope | undefined = currentScope();
  /** The holds that a call for several keys has already while it waits for the next key. */
  taken: readonly Hold[] | undefined;
  /** Reports its place to the caller, in the async context of the call. */
  readonly onQueued: CheckedOptions['onQueued'];
  /** The client of the request, with `requestScope: 'deep'`: when it goes away, a call outside of holds leaves the queue. */
  private readonly client: Leaving | undefined;
  /** The request whose handler begins with this call, before anything of it has run. */
  private readonly handled: Leaving | undefined;
  /** The one of the two that can end the present wait. Followed only while in the queue. */
  private leaving: Leaving | undefined;

  /** @param isTry it does not wait, and its caller goes on without the lock */
  constructor(
    readonly options: CheckedOptions,
    isTry = false,
  ) {
    this.skips = isTry || options.skips;
    this.waitTime = isTry ? 0 : options.waitTime;
    this.deadline = performance.now() + this.waitTime;
    const client = options.requestScope === 'deep' ? currentClient() : undefined;
    this.client = client?.awaitsAnswer ? client : undefined;
    this.handled = options.handler && requestFor(options.handler);
    this.onQueued = options.onQueued && AsyncResource.bind(options.onQueued, 'FairLock.onQueued');
  }

  /** When its wait began, on the monotonic clock. */
  get since(): number {
    return this.wait?.since ?? Infinity;
  }

  /** The grants that the flow has while it waits: those that it is inside of, and those of the keys that a call for several has already. */
  get holdsAround(): Hold[] {
    const around = [...openLocks(this.scope)].flatMap(({ holds }) => holds);
    const outermost = [...around, ...(this.taken ?? [])].map((hold) => hold.outermost);
    return [...new Set(outermost)].filter(({ grant }) => grant.lease.state !== 'lost');
  }

  /** The keys of these. */
  get keysAround(): string[] {
    return [...new Set(this.holdsAround.map(({ key }) => key))];
  }

  /** Whether the caller is inside a hold right now. */
  get insideHold(): boolean {
    return keyHeldAround(this.scope) !== undefined;
  }

  /** The wait ends with the caller's signal from now on. */
  begin(wait: Wait<unknown>): void {
    this.wait = wait;
    this.ahead = undefined;
    this.warned = false;
    const { signal } = this.options;
    if (signal) follow(signal, wait);
  }

  /** A store has put the wait in the queue. */
  queued(ahead: number): void {
    const { wait, description, options } = this;
    if (!wait) return;
    this.ahead = ahead;
    if (description) description.ahead = ahead;
    emit({ type: 'queued', key: wait.key, lock: options.lock, ahead });
    this.leaving = this.handled ?? (this.insideHold ? undefined : this.client);
    this.leaving?.follow(wait);
    this.onQueued?.(ahead);
  }

  /** How long the lease of that holder still lasts, ms; undefined unless its process was found gone. */
  leaseLeftOf(holder: string | undefined): number | undefined {
    if (!this.gone || this.gone.holder !== holder) return undefined;
    return Math.max(0, this.gone.until - performance.now());
  }

  /** The wait is out of the queue: stops listening to its caller and its client. */
  end(): void {
    const { wait, leaving } = this;
    const { signal } = this.options;
    this.wait = undefined;
    this.leaving = undefined;
    if (wait && signal) unfollow(signal, wait);
    if (wait) leaving?.unfollow(wait);
  }
}

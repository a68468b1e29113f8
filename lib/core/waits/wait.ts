import { AsyncResource } from 'node:async_hooks';
import { emit, type WaitDescription } from '../diagnostics/diagnostics.js';
import { currentScope, keyHeldAround, type Scope } from '../holds/lock-handle.js';
import type { Hold } from '../holds/hold.js';
import type { CheckedOptions } from '../options/acquire-options.js';
import type { Grant, LockRequest } from '../port/lock-store.js';
import { Wait } from '../port/wait.js';
import { follow, unfollow } from '../runtime/abort-relay.js';
import { currentClient, type RequestClient } from '../runtime/async-context.js';
import type { Linked } from '../runtime/linked-list.js';

/**
 * One call of an engine: its options and its scope. It differs from its waits in two facts: it may take several keys, and so wait in several
 * lines one after the other; and it outlives them.
 */
export class AcquireCall implements Linked<AcquireCall> {
  previous: AcquireCall | undefined;
  next: AcquireCall | undefined;
  /** Its present wait. */
  wait: CallWait<unknown> | undefined;
  /** Whether its caller continues without the lock when the wait has ended. */
  readonly skips: boolean;
  /** Milliseconds for which it may wait. */
  readonly waitTime: number;
  /** When the wait ends, on the monotonic clock. */
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

  /** @param isTry it does not wait, and its caller goes on without the lock */
  constructor(
    readonly options: CheckedOptions,
    isTry = false,
  ) {
    this.skips = isTry || options.skips;
    this.waitTime = isTry ? 0 : options.waitTime;
    this.deadline = performance.now() + this.waitTime;
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
 * The present wait of a call. It differs from a `Wait` in two facts: it is reported to callers, diagnostics and `query`, and it ends with the
 * caller's signal and the client of its request.
 */
export class CallWait<Outcome = Grant> extends Wait<Outcome> {
  /** Where it was put in line, and what the store calls it there; undefined while it is not in a line of the store. */
  place: { readonly ahead: number; readonly id?: string | undefined } | undefined;
  /** Whether a warning of its length was given. */
  warned = false;
  /** Aborts when the client of the request goes away. Listened to only while in line. */
  private leaving: AbortSignal | undefined;

  /** @param nested whether it stands in the line of a hold of its flow, which only its caller hears of */
  constructor(
    request: LockRequest,
    readonly call: AcquireCall,
    private readonly nested: boolean,
  ) {
    super(request);
    const { signal } = call.options;
    if (signal) follow(signal, this);
  }

  get key(): string {
    return this.request.key;
  }

  /** A request inside a hold goes on waiting when its client goes away. */
  override queued(ahead: number, id?: string): void {
    const { call, key } = this;
    if (!this.nested) {
      this.place = { ahead, id };
      if (call.description) call.description.ahead = ahead;
      emit({ type: 'queued', key, lock: call.options.lock, ahead });
      this.leaving = call.insideHold ? undefined : call.client?.leaving();
      if (this.leaving) follow(this.leaving, this);
    }
    call.queued?.(ahead);
  }

  /** The request is out of the line: stops listening to its caller and its client. */
  end(): void {
    const { signal } = this.call.options;
    if (signal) unfollow(signal, this);
    if (this.leaving) unfollow(this.leaving, this);
  }
}

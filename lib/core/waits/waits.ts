import { AsyncResource } from 'node:async_hooks';
import { follow, unfollow } from '../runtime/abort-relay.js';
import type { CheckedOptions } from '../options/acquire-options.js';
import type { SharedGrants, Hold } from '../holds/shared-grants.js';
import { currentClient, detached, type RequestClient } from '../runtime/async-context.js';
import { beginWait, endWait, emit, waitChannel, type WaitDescription } from '../diagnostics/diagnostics.js';
import { LockShuttingDownError, LockTimeoutError } from '../errors/errors.js';
import { LinkedList, type Linked } from '../runtime/linked-list.js';
import { currentScope, keyHeldAround, type Scope } from '../holds/lock-handle.js';
import type { AbortListener, AbortSource, LockRequest } from '../port/lock-store.js';
import type { SlowWatch } from '../runtime/slow-watch.js';
import type { Timers, TimedTask } from '../runtime/timers.js';

/** One call of an engine: its options and its scope. */
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
  /** The description, for diagnostics, of a wait that goes on elsewhere. */
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
}

/** One wait in one line, and what may end it from outside: the caller, the client that went away, the engine. */
export class Wait implements LockRequest, AbortSource, Linked<Wait> {
  previous: Wait | undefined;
  next: Wait | undefined;

  /** Where it was put in line, and what the store calls it there; undefined while it is not in a line. */
  place: { readonly ahead: number; readonly id?: string | undefined } | undefined;
  /** Its description for diagnostics, if there were subscribers. */
  description: WaitDescription | undefined;
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
  readonly maxQueue: number;
  readonly label: string;
  readonly signal: AbortSource = this;

  constructor(
    readonly key: string,
    readonly call: AcquireCall,
  ) {
    const { leaseTime, maxQueue, label, signal } = call.options;
    this.waitTime = Math.max(0, call.deadline - this.since);
    this.leaseTime = leaseTime;
    this.maxQueue = maxQueue;
    this.label = label;
    if (signal) follow(signal, this);
  }

  /** The request is in line from now on, behind `ahead` others. A request inside a hold goes on waiting when its client goes away. */
  onQueued(ahead: number, id?: string): void {
    this.place = { ahead, id };
    if (this.description) this.description.ahead = ahead;
    emit({ type: 'queued', key: this.key, lock: this.call.options.lock, ahead });
    this.leaving = isInsideHold(this.call) ? undefined : this.call.client?.leaving();
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

/**
 * - `stopping`: only a flow that holds a lock may wait or join a line; other requests are refused.
 * - `drained`: all waits have ended, and the holders have been asked to stop. Nesting that needs no wait still works.
 * - `closed`: no lock is granted any more.
 */
type Phase = 'running' | 'stopping' | 'drained' | 'closed';

/** All waiting requests of an engine. A shutdown ends their waits step by step. */
export class Waits implements TimedTask {
  private readonly all = new LinkedList<Wait>();
  private phase: Phase = 'running';
  /** Warns of long waits; undefined: they are not watched. */
  slowWatch: SlowWatch<Wait> | undefined;
  /** Warns of waits that time out; undefined: they are not watched. */
  onTimeout: ((wait: Wait, error: LockTimeoutError) => void) | undefined;
  private draining: Promise<void> | undefined;
  private onDrained: (() => void) | undefined;

  constructor(
    private readonly timers: Timers,
    private readonly grants: SharedGrants,
    /** Milliseconds from `beginShutdown` until the holders are asked to stop. */
    private readonly drainTimeout: number,
  ) {}

  get closed(): boolean {
    return this.phase === 'closed';
  }

  /** No request is served any more; a grant that arrives now must be released. */
  get drained(): boolean {
    return this.phase === 'drained' || this.phase === 'closed';
  }

  /** The waits that have not ended, in the order in which they began. */
  present(): Wait[] {
    return this.all.all();
  }

  /** @throws LockShuttingDownError */
  begin(key: string, call: AcquireCall): Wait {
    if (this.drained || (this.phase === 'stopping' && !isInsideHold(call))) {
      throw new LockShuttingDownError(key);
    }
    const wait = new Wait(key, call);
    if (call.description) wait.description = call.description;
    else if (waitChannel.hasSubscribers) wait.description = beginWait(key, call.options);
    call.description = undefined;
    this.all.add(wait);
    if (this.slowWatch?.armed === false) this.slowWatch.begin();
    return wait;
  }

  /** @param error absent: it was granted */
  end(wait: Wait, error?: unknown): void {
    this.leave(wait);
    this.refused(wait, error);
    this.endDescription(wait.call, error);
  }

  /** Its line has refused it with `error`. */
  refused(wait: Wait, error: unknown): void {
    if (error instanceof LockTimeoutError) this.onTimeout?.(wait, error);
  }

  /** It is over here, and the call asks anew: to diagnostics that is one wait. */
  leave(wait: Wait): void {
    this.all.delete(wait);
    wait.end();
    wait.call.description = wait.description;
  }

  /** Ends what `leave` has left, unless another wait of the call has taken it over. */
  endDescription(call: AcquireCall, error?: unknown): void {
    if (call.description) endWait(call.description, error);
    call.description = undefined;
  }

  beginShutdown(): void {
    if (this.phase !== 'running') return;
    this.phase = 'stopping';
    for (const wait of this.present()) if (!isInsideHold(wait.call)) this.abandon(wait);
    if (this.drainTimeout < Infinity) this.timers.schedule(this, performance.now() + this.drainTimeout);
  }

  /** Resolves when nothing is held any more, or the drain time is over. */
  drain(): Promise<void> {
    return (this.draining ??= this.untilDrained());
  }

  /** The drain time is over. */
  onDue(): void {
    this.phase = 'drained';
    this.onDrained?.();
    for (const wait of this.present()) this.abandon(wait);
    this.grants.interrupt();
  }

  close(): void {
    this.onDue();
    this.phase = 'closed';
  }

  private async untilDrained(): Promise<void> {
    if (this.drained) return;
    const timeUp = new Promise<void>((resolve) => (this.onDrained = resolve));
    await Promise.race([timeUp, this.grants.empty()]);
  }

  private abandon(wait: Wait): void {
    wait.abort(new LockShuttingDownError(wait.key));
  }
}

/** Whether the caller is inside a hold right now. */
function isInsideHold({ scope }: AcquireCall): boolean {
  return keyHeldAround(scope) !== undefined;
}

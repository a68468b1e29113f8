import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { type Follower } from './abort-relay.js';
import { sharedByAllCopies } from './shared-by-all-copies.js';

/** What a wait can end with. */
export interface Leaving {
  /** Aborts a wait that is in a queue when it should end, with the reason; immediately if it should have ended already. */
  follow(wait: Follower): void;
  unfollow(wait: Follower): void;
}

/** A request that Nest hands to its handler. Made for every such request, so it must cost nothing before the handler waits. */
export interface HandledRequest extends Leaving {
  /** Whether `handler` is the one, and nothing of it has run: from then on, the request ends no wait. */
  awaits(handler: object): boolean;

  /** The handler begins. */
  begin(): void;
}

/** The client for which a request runs. Made for every request, so it must cost nothing before a request waits. */
export interface RequestClient extends Leaving {
  /**
   * Whether the request has not been answered yet, not even a client that has gone. If it has, the code that asks for a lock is work that
   * the request left behind.
   */
  readonly awaitsAnswer: boolean;
}

/** What an async flow carries with it. */
interface Flow {
  /** Ends every wait of the flow (`requestScope: 'deep'`). */
  readonly client: RequestClient | undefined;
  /** Ends the wait of the handler that Nest is about to call, and no other. */
  readonly handled: HandledRequest | undefined;
  /** The locks that it is inside of, as lock-handle.ts keeps them. */
  readonly scope: object | undefined;
}

/**
 * One storage for all fields: before Node 24 each storage costs time for every promise of the process.
 *
 * Use only `run`, never `enterWith`, so that a scope ends with its code. The name contains the version of the format: raise it when
 * `RequestClient` or `Scope` changes, or the part of a lock that a nested call uses. Only copies with the same version share flows.
 */
const flows = sharedByAllCopies('nestjs-fair-lock:flow:2', () => new AsyncLocalStorage<Flow>());

/**
 * Runs `code` for a client that may go away. Then every wait that the code, however deep, began outside of a hold ends with a
 * LockAbortedError. Nothing else changes: a free lock is still granted, and a section that has begun goes on.
 *
 * The request begins outside of every hold, also on a server that a section has begun to listen with: it is not a part of that section.
 */
export function runForClient<T>(client: RequestClient, code: () => T): T {
  return flows.run({ client, handled: undefined, scope: undefined }, code);
}

/** Runs the handler of a request, and what Nest runs before it. */
export function runHandling<T>(handled: HandledRequest, code: () => T): T {
  const flow = flows.getStore();
  return flows.run({ client: flow?.client, handled, scope: flow?.scope }, code);
}

/** The request whose handler runs in this flow. */
export function handledRequest(): HandledRequest | undefined {
  return flows.getStore()?.handled;
}

/** The request that the running call of `handler` handles; undefined for every other call of it. */
export function requestFor(handler: object): HandledRequest | undefined {
  const handled = handledRequest();
  return handled?.awaits(handler) ? handled : undefined;
}

/** The client for which this code runs. */
export function currentClient(): RequestClient | undefined {
  return flows.getStore()?.client;
}

/** Runs `code`, and everything it starts, in a scope; undefined: in none. */
export function runInScope<T>(scope: object | undefined, code: () => T): T {
  const flow = flows.getStore();
  return flows.run({ client: flow?.client, handled: flow?.handled, scope }, code);
}

/** The scope in which this code runs. */
export function scopeOfFlow(): object | undefined {
  return flows.getStore()?.scope;
}

/** The context in which the package was loaded; it belongs to no request. */
const outside = new AsyncResource('FairLock', { requireManualDestroy: true });

/**
 * Calls `code` outside of the running async flow: without its AsyncLocalStorage stores, and inside none of its holds.
 *
 * The module does all its own work through this function: calls of a store, timers, warnings. Otherwise the
 * heartbeat of one lock would belong to the request that happened to arm the timer, appear in its trace, keep its
 * stores in memory, and run callbacks inside its holds.
 */
export function detached<T>(code: () => T): T {
  return outside.runInAsyncScope(code);
}

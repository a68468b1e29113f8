import { AsyncResource } from 'node:async_hooks';

/** The context in which the package was loaded, which is that of no request. */
const outside = new AsyncResource('FairLock', { requireManualDestroy: true });

/**
 * Calls `code` outside of the async flow that runs: with none of its AsyncLocalStorage stores, and inside none of its
 * holds.
 *
 * All that the module does by itself goes through here: what a store is asked to do, timers, warnings. Otherwise the
 * heartbeat of one lock would belong to the request that happened to arm the timer, appear in its trace, keep its
 * stores in memory, and run callbacks inside its holds.
 */
export function detached<T>(code: () => T): T {
  return outside.runInAsyncScope(code);
}

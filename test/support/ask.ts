import type { Grant, LockRequest, LockStore } from '../../lib/core/port/lock-store.js';
import { Wait } from '../../lib/core/port/wait.js';
import { follow, unfollow } from '../../lib/core/runtime/abort-relay.js';

/** A request of a test, with what ends its wait and what hears of its place in line. */
export interface Asked extends LockRequest {
  readonly signal?: AbortSignal;
  readonly onQueued?: (ahead: number) => void;
}

/** Asks a store for a lock, without an engine. */
export async function ask(store: LockStore, { signal, onQueued, ...request }: Asked): Promise<Grant> {
  const wait = new Wait(request, onQueued && { queued: onQueued });
  if (signal) follow(signal, wait);
  try {
    return await store.acquire(wait);
  } finally {
    if (signal) unfollow(signal, wait);
  }
}

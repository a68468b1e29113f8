import { setMaxListeners } from 'node:events';

/**
 * Aborts controllers when other signals abort.
 *
 * Does not use `AbortSignal.any`: on Node 20 a combined signal stays in memory as long as its sources. Adds only one listener to each
 * source, for all its followers: with a listener for each, adding would be O(n), and Node would warn of a leak at the eleventh wait
 * that shares a request's signal.
 */
const relays = new WeakMap<AbortSignal, Relay>();

/** From now on `follower` aborts, with the same reason, when `source` does; immediately if it already has. */
export function follow(source: AbortSignal, follower: Follower): void {
  if (source.aborted) {
    follower.abort(source.reason);
    return;
  }
  let relay = relays.get(source);
  if (!relay) relays.set(source, (relay = new Relay(source)));
  relay.add(follower);
}

/** Ends what `follow` began; no effect if it never did. */
export function unfollow(source: AbortSignal, follower: Follower): void {
  relays.get(source)?.remove(follower);
}

/**
 * A controller whose signal may be handed to any number of calls: Node would warn of a leak at the eleventh listener.
 */
export function controllerForMany(): AbortController {
  const controller = new AbortController();
  try {
    setMaxListeners(0, controller.signal);
  } catch {
    // In jsdom and happy-dom the global class is not Node's, which alone counts listeners.
  }
  return controller;
}

/** An AbortController, or what can be aborted like one. */
export interface Follower {
  abort(reason?: unknown): void;
}

/** Each is aborted once, even if one of them adds or removes another. */
export function abortAll(followers: Set<Follower>, reason?: unknown): void {
  for (const follower of followers) {
    followers.delete(follower);
    follower.abort(reason);
  }
}

class Relay {
  private readonly followers = new Set<Follower>();

  constructor(private readonly source: AbortSignal) {}

  add(follower: Follower): void {
    if (this.followers.size === 0) this.source.addEventListener('abort', this.onAbort);
    this.followers.add(follower);
  }

  remove(follower: Follower): void {
    if (this.followers.delete(follower) && this.followers.size === 0) {
      this.source.removeEventListener('abort', this.onAbort);
    }
  }

  /** A function and no listener object, because polyfills of AbortSignal accept only functions. */
  private readonly onAbort = (): void => abortAll(this.followers, this.source.reason);
}

import { follow, unfollow } from './abort-relay.js';
import type { Ask } from './ask.js';
import { abortError, type FairLockError } from './errors.js';
import type { Hold } from './hold.js';

/** One stay in one line, and what may end it from outside: the caller, the client that went away, the engine. */
export class Wait {
  /** The hold into which another request of its owner took it along: it need not wait any more. */
  takenAlong: Hold | undefined;
  private readonly controller = new AbortController();

  /** @throws LockAbortedError if the request on whose behalf it is has gone away already */
  constructor(
    readonly key: string,
    readonly ask: Ask,
  ) {
    const { signal, requestSignal } = ask;
    throwIfAborted(key, requestSignal);
    if (signal) follow(signal, this.controller);
    if (requestSignal) follow(requestSignal, this.controller);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Leaves the line; the request is refused with `reason`. */
  abandon(reason: FairLockError): void {
    this.controller.abort(reason);
  }

  /** Out of the line for whatever reason: listens no more. */
  end(): void {
    const { signal, requestSignal } = this.ask;
    if (signal) unfollow(signal, this.controller);
    if (requestSignal) unfollow(requestSignal, this.controller);
  }
}

export function throwIfAborted(key: string, signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortError(key, signal.reason);
}

import { abortAll, type Follower } from '../../core/runtime/abort-relay.js';
import { type Leaving } from '../../core/runtime/async-context.js';

const endings = new WeakMap<object, Ending>();

/**
 * The end of a response, a call or a connection. Not an AbortSignal, which would make an error with a stack for each request that waited: half
 * of what such a request costs.
 */
export class Ending {
  private readonly followers = new Set<Follower>();
  /** Written by `come`. */
  hasCome = false;

  /**
   * Each source has one, however many waits follow it: Node would warn of a leak at the eleventh listener.
   *
   * @param listen calls `come` when the source ends; immediately if it has ended
   */
  static of(source: object, listen: (come: () => void) => void): Ending {
    let ending = endings.get(source);
    if (!ending) {
      const made = (ending = new Ending());
      endings.set(source, made);
      listen(() => made.come());
    }
    return ending;
  }

  /** Aborts `follower` at the end; immediately if it has come. */
  follow(follower: Follower): void {
    if (this.hasCome) follower.abort();
    else this.followers.add(follower);
  }

  unfollow(follower: Follower): void {
    this.followers.delete(follower);
  }

  private come(): void {
    this.hasCome = true;
    abortAll(this.followers);
  }
}

/** The waits of a request. Listens to its end only while there are any. */
export abstract class WaitsOfRequest implements Leaving {
  private readonly waits = new Set<Follower>();
  private ending: Ending | undefined;

  follow(wait: Follower): void {
    this.waits.add(wait);
    this.ending ??= this.ended();
    this.ending?.follow(this);
  }

  unfollow(wait: Follower): void {
    this.waits.delete(wait);
    if (this.waits.size === 0) this.ending?.unfollow(this);
  }

  /** The request has ended: so do its waits, if there is a reason. */
  abort(): void {
    const reason = this.waits.size > 0 && this.reason();
    if (reason) abortAll(this.waits, reason);
  }

  /** Undefined: nothing tells of its end. */
  protected abstract ended(): Ending | undefined;

  protected abstract reason(): Error | undefined;
}

import type { Subscriber } from '../connection/subscriber.js';
import { Signal, within } from '../server/time-limit.js';

/** Least time between two reconnects for this reason, ms: if ACLs deny messages, a reconnect does not help. */
const REBUILD_PAUSE = 10_000;

/**
 * Finds a subscription that only seems to be up (R9), because the network dropped an idle connection or a node left its Cluster: the
 * client sends a message to its own channel. Only an idle client needs this; others find it by their heartbeats.
 */
export class LoopbackCheck {
  private readonly message = new Signal();
  private rebuiltAt = -Infinity;

  constructor(
    private readonly subscriber: Subscriber,
    /** Publishes a message that has no further meaning on the client's own channel. */
    private readonly publish: () => Promise<unknown>,
  ) {}

  /** A message came; any proves that the link works. */
  received(): void {
    this.message.fire();
  }

  /**
   * Resolves within `limit` ms with whether messages arrive. If they do not, makes the subscription anew. If the message cannot be
   * sent in half of that time, resolves with whether the subscriber is up. Never rejects.
   */
  async works(limit: number): Promise<boolean> {
    const { subscriber } = this;
    const { upSince } = subscriber;
    if (upSince === undefined) return false;
    const message = this.message.within(limit);
    const sent = await within(this.publish(), limit / 2).then(
      () => true,
      () => false,
    );
    if (!sent || (await message)) return subscriber.up;
    if (subscriber.upSince === upSince) this.rebuild();
    return false;
  }

  private rebuild(): void {
    const time = performance.now();
    if (time - this.rebuiltAt < REBUILD_PAUSE) return;
    this.rebuiltAt = time;
    this.subscriber.rebuild();
  }
}

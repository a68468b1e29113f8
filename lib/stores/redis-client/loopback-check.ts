import type { Subscriber } from './subscriber.js';
import { Signal, within } from './time-limit.js';

/** Least time between two connections made anew for this reason, ms: where messages are denied, none of them helps. */
const REBUILD_PAUSE = 10_000;

/**
 * Finds a subscription that only seems to be up (R9), by a message of the client to its own channel: a network that forgot an idle
 * connection, a node that left its Cluster. A client that holds or waits finds it by its heartbeats; this is for one that is idle.
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
    this.message.happened();
  }

  /**
   * Whether messages arrive, answered within `limit` ms. If none does, the subscription is made anew. Where the message cannot be
   * sent in half of that time, what the subscriber says counts. Never rejects.
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

import type { Redis, Cluster } from 'ioredis';
import type { Subscriber } from '../redis-client/connection/subscriber.js';

/**
 * The channels on which waiters are woken.
 *
 * On a Redis Cluster with sharded channels, Redisson publishes on those, else (or if its `shardedSubscriptionMode` is off) on classic ones;
 * so this class listens to both. A message is only a hint: if the user's own Cluster client cannot listen to sharded channels,
 * the driver still asks from time to time.
 */
export class WakeUps {
  private readonly cluster: Cluster | undefined;

  constructor(
    private readonly subscriber: Subscriber,
    client: Redis | Cluster,
    onMessage: (channel: string, text: string) => void,
  ) {
    if (client.isCluster && 'shardedSubscribers' in client.options && client.options.shardedSubscribers) {
      this.cluster = client as Cluster;
    }
    this.cluster?.on('smessage', onMessage);
    subscriber.onMessage = onMessage;
  }

  /** Resolves when acknowledged, or when it failed. */
  async add(channel: string): Promise<void> {
    await Promise.all([
      this.subscriber.add(channel),
      this.cluster?.ssubscribe(channel).catch(() => undefined), // before Redis 7 there are none
    ]);
  }

  remove(channel: string): void {
    this.subscriber.remove(channel);
    this.cluster?.sunsubscribe(channel).catch(() => undefined);
  }
}

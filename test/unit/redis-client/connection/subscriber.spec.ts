import { EventEmitter } from 'node:events';
import {
  Subscriber,
  type SubscriberClient,
} from '../../../../lib/stores/redis-client/connection/subscriber.js';

/** A connection that is ready, acknowledges its first channel, and breaks before it acknowledges others. */
class BreakingClient extends EventEmitter implements SubscriberClient {
  readonly isCluster = true;
  readonly status = 'ready';
  disconnects = 0;
  private readonly unanswered: ((error: Error) => void)[] = [];

  connect(): Promise<void> {
    return Promise.resolve();
  }

  subscribe(channel: string): Promise<unknown> {
    if (channel === 'first') return Promise.resolve();
    return new Promise((_, reject) => this.unanswered.push(reject));
  }

  unsubscribe(): Promise<unknown> {
    return Promise.resolve();
  }

  break(): void {
    for (const reject of this.unanswered) reject(new Error('Connection is closed.'));
  }

  /** ioredis adds a listener and a timer to the socket at each call. */
  disconnect(): void {
    this.disconnects += 1;
  }
}

test('a connection that breaks while many channels are being subscribed is dropped once', async () => {
  const client = new BreakingClient();
  const subscriber = new Subscriber(client, () => Promise.resolve(1));
  await subscriber.add('first');
  subscriber.connect();
  await new Promise(setImmediate);
  expect(subscriber.up).toBe(true);
  const added = Array.from({ length: 20 }, (_, i) => subscriber.add(`channel ${i}`));
  client.break();
  await Promise.all(added);
  expect(client.disconnects).toBe(1);
});

import type { Redis } from 'ioredis';
import { watchSentinels } from './sentinels.js';

/**
 * Reconnects a client that found its server by sentinels when one of these announces another primary: a frozen one does
 * not close its connections, and would serve the client again when it wakes up.
 *
 * It is for clients that the user's own function made without `failoverDetector`, the option of ioredis that does this best: at a
 * reconnect it asks the sentinel first that named the primary before.
 */
export function watchFailovers(client: Redis): void {
  const { sentinels, failoverDetector } = client.options;
  if (!sentinels || failoverDetector) return;
  let stop = (): void => undefined;
  // Before it is ready: a frozen server accepts connections, too, and may wake up while the client waits for its reply.
  client.on('connect', () => {
    stop();
    stop = watchSentinels(sentinels, client.options, () => {
      stop();
      client.disconnect(true);
    });
  });
  client.on('close', () => stop());
}

import { ReplyError, type Redis } from 'ioredis';
import { watchSentinels } from './sentinels.js';

/**
 * Drops a connection if its server sends nothing for `limit` ms after accepting it. The kernel of a frozen process still accepts
 * connections; ioredis limits only the time to connect, so it would wait for ever instead of looking for the new primary.
 */
export function limitHandshake(client: Redis, limit: number): void {
  let timer: NodeJS.Timeout | undefined;
  const met = (): void => clearTimeout(timer);
  client.on('connect', () => {
    met();
    timer = setTimeout(() => client.disconnect(true), limit);
    timer.unref();
    // Any answer, even an error, shows that the server is up, though it may still be loading its data. HELLO without arguments changes
    // nothing, needs no right, and ioredis sends it before the connection is ready.
    client.call('HELLO').then(met, (error: unknown) => {
      if (error instanceof ReplyError) met();
    });
  });
  for (const event of ['ready', 'close', 'end']) client.on(event, met);
}

/**
 * Reconnects a client of sentinels when a sentinel announces another primary. A frozen primary does not close its connections, and
 * would serve the client again when it wakes up.
 *
 * Only for clients that the user's own function made without `failoverDetector`, the option of ioredis that does this best.
 */
export function watchFailovers(client: Redis): void {
  const { sentinels, failoverDetector } = client.options;
  if (!sentinels || failoverDetector) return;
  let stop = (): void => undefined;
  // Begin before the client is ready: a frozen server also accepts connections, and may wake up while the client waits for its reply.
  client.on('connect', () => {
    stop();
    stop = watchSentinels(sentinels, client.options, () => {
      stop();
      client.disconnect(true);
    });
  });
  client.on('close', () => stop());
}

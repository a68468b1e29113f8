import { ReplyError, type Redis } from 'ioredis';
import { watchSentinels } from './sentinels.js';

/**
 * Drops a connection whose server accepts it and then sends nothing for `limit` ms, as a frozen process does: its kernel still
 * accepts, and ioredis, which has a limit for connecting only, would wait for an answer for ever instead of looking for
 * the server that has taken its place.
 */
export function limitHandshake(client: Redis, limit: number): void {
  let timer: NodeJS.Timeout | undefined;
  const met = (): void => clearTimeout(timer);
  client.on('connect', () => {
    met();
    timer = setTimeout(() => client.disconnect(true), limit);
    timer.unref();
    // Any answer will do, an error too: the server is up, though it may still be loading its data. HELLO without arguments changes
    // nothing, needs no right, and ioredis sends it before the connection is ready.
    client.call('HELLO').then(met, (error: unknown) => {
      if (error instanceof ReplyError) met();
    });
  });
  for (const event of ['ready', 'close', 'end']) client.on(event, met);
}

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

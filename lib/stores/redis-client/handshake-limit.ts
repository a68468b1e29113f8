import { ReplyError, type Redis } from 'ioredis';

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

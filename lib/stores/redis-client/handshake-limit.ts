import type { Redis } from 'ioredis';

/**
 * Drops a connection whose server accepts it and then sends nothing for `limit` ms, as a frozen process does: its kernel still
 * accepts, and ioredis, which has a limit for connecting only, would wait for an answer for ever instead of looking for
 * the server that has taken its place.
 */
export function limitHandshake(client: Redis, limit: number): void {
  let timer: NodeJS.Timeout | undefined;
  client.on('connect', () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      // A server that has answered is up; it may still be loading its data.
      if (client.status === 'connect' && !hasAnswered(client)) client.disconnect(true);
    }, limit);
    timer.unref();
  });
  for (const event of ['ready', 'close', 'end']) client.on(event, () => clearTimeout(timer));
}

function hasAnswered({ stream }: Partial<Redis>): boolean {
  return stream !== undefined && stream.bytesRead > 0;
}

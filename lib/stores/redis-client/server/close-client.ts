import { atMost } from './time-limit.js';

/** What closing needs to know of a client. */
export interface Closable {
  readonly status: string;
  once(event: 'end', listener: () => void): unknown;
  disconnect(): void;
}

/**
 * Disconnects: all replies that matter have been awaited, and what was written is still sent. Resolves when the client has ended, at the
 * latest after `limit` ms.
 */
export async function closeClient(client: Closable, limit: number): Promise<void> {
  if (client.status === 'end') return;
  // Between two attempts to connect ioredis only stops its timer, and emits no `end`.
  const ends = client.status !== 'reconnecting';
  const ended = new Promise<void>((resolve) => client.once('end', resolve));
  client.disconnect();
  if (ends) await atMost(ended, limit);
}

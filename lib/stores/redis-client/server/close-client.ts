import { atMost } from './time-limit.js';

/** What closing needs to know of a client. */
export interface Closable {
  readonly status: string;
  readonly isCluster: boolean;
  readonly options?: object;
  once(event: 'end', listener: () => void): unknown;
  quit?(): Promise<unknown>;
  disconnect(): void;
}

/** Quits, and cuts the connection where that takes longer than `limit` ms. Resolves when it is gone. Never rejects. */
export async function closeClient(client: Closable, limit: number): Promise<void> {
  if (client.status === 'end') return;
  // Between two attempts to connect ioredis only stops its timer, and emits no `end`.
  if (client.status === 'reconnecting') return client.disconnect();
  const ended = new Promise<boolean>((resolve) => client.once('end', () => resolve(true)));
  // Either QUIT or disconnect, not both: after a successful QUIT ioredis would arm a timer for a closed socket.
  if (client.status === 'ready' && client.quit && isQuitClean(client)) {
    client.quit().catch(() => client.disconnect());
  } else {
    client.disconnect();
  }
  if (!(await atMost(ended, limit))) client.disconnect();
}

/**
 * Whether QUIT closes the client cleanly. A Cluster client would first connect to its other nodes, and a client with sentinels would
 * stay connected to them. These are disconnected at once, which loses nothing: all replies that matter have been awaited.
 */
function isQuitClean({ isCluster, options = {} }: Closable): boolean {
  return !isCluster && !('sentinels' in options && options.sentinels);
}

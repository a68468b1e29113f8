import type { Cluster, Redis } from 'ioredis';
import { escapePattern } from '../redis-client/peers/pattern.js';

/** Which waiters somebody listens for. */
export type Listeners = (id: string, client: string) => boolean;

/**
 * Asks Redis who listens to the channels of one lock, and to those of processes. A process of this library that lives listens to the latter
 * before its waiter listens to its own; a thread in Java has only that one.
 *
 * @param channel of the lock
 * @param peers what the channels of processes begin with
 * @returns undefined if Redis does not say
 */
export async function listenersOf(
  client: Redis | Cluster,
  channel: string,
  peers: string,
): Promise<Listeners | undefined> {
  // Each node of Redis Cluster knows only those that are connected to it.
  if (client.isCluster) return undefined;
  const list = async (prefix: string): Promise<Set<string>> => {
    const channels = (await client.pubsub('CHANNELS', `${escapePattern(prefix)}*`)) as string[];
    return new Set(channels.map((name) => name.slice(prefix.length)));
  };
  try {
    const [ids, processes] = await Promise.all([list(`${channel}:`), list(peers)]);
    return (id, process) => ids.has(id) || processes.has(process);
  } catch {
    return undefined;
  }
}

import type { Cluster, Redis } from 'ioredis';

/** Which waiters somebody listens for. */
export type Listeners = (id: string) => boolean;

/**
 * Asks Redis who listens to the channels of waiters, and to those of their processes. A process of this library that lives listens to the
 * latter before its waiter listens to its own; a thread in Java has only that one.
 *
 * @param channel of the lock
 * @param peers what the channels of processes begin with
 * @returns undefined if Redis does not say
 */
export async function listenersOf(
  client: Redis | Cluster,
  channel: string,
  peers: string,
  waiters: readonly { readonly id: string }[],
): Promise<Listeners | undefined> {
  // Each node of Redis Cluster knows only those that are connected to it.
  if (client.isCluster) return undefined;
  const ofWaiter = (id: string): string => `${channel}:${id}`;
  const ofProcess = (id: string): string => peers + clientOf(id);
  const names = [...new Set(waiters.flatMap(({ id }) => [ofWaiter(id), ofProcess(id)]))];
  try {
    const counts = (await client.pubsub('NUMSUB', ...names)) as (string | number)[];
    const heard = new Set(names.filter((_, i) => Number(counts[2 * i + 1]) > 0));
    return (id) => heard.has(ofWaiter(id)) || heard.has(ofProcess(id));
  } catch {
    return undefined;
  }
}

/** A request is `uuid:thread` on the wire. */
export function clientOf(id: string): string {
  return id.slice(0, id.lastIndexOf(':'));
}

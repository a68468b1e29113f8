import type { Cluster, Redis } from 'ioredis';

/** The run id of the server, or undefined where that is not told (no permission, a Cluster with many). */
export async function readRunId(client: Redis | Cluster): Promise<string | undefined> {
  if (client.isCluster) return undefined;
  try {
    return /run_id:(\w+)/.exec(await client.info('server'))?.[1];
  } catch {
    return undefined;
  }
}

/** A client of ioredis, or one that goes to any node of a Cluster. */
interface Asked {
  readonly isCluster: boolean;
  info?(section: string): Promise<string>;
}

/** The run id of the server, or undefined where that is not told (no permission, a Cluster with many). */
export async function readRunId(client: Asked): Promise<string | undefined> {
  if (client.isCluster) return undefined;
  try {
    return /run_id:(\w+)/.exec((await client.info?.('server')) ?? '')?.[1];
  } catch {
    return undefined;
  }
}

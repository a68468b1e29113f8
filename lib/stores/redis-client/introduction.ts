import type { Cluster, Redis } from 'ioredis';
import type { ServerClock } from './server-clock.js';

/**
 * Reads the run id and the time of a server when a connection to it is ready. Never rejects.
 *
 * @param clock is told the time
 * @returns the run id; undefined where it is not known (no permission, a Cluster with many servers)
 */
export async function introduce(client: Redis | Cluster, clock: ServerClock): Promise<string | undefined> {
  if (client.isCluster) return undefined;
  const sentAt = performance.now();
  const [id] = await Promise.all([
    readRunId(client),
    client.time().then(
      ([seconds, micros]) =>
        clock.observe(sentAt, performance.now(), Number(seconds) * 1_000 + Number(micros) / 1_000),
      () => undefined,
    ),
  ]);
  return id;
}

/** The part of a client that is needed here; one that goes to any node of a Cluster has no `info`. */
interface InfoClient {
  readonly isCluster: boolean;
  info?(section: string): Promise<string>;
}

/** The run id of the server, or undefined where it cannot be read. Never rejects. */
export async function readRunId(client: InfoClient): Promise<string | undefined> {
  if (client.isCluster) return undefined;
  try {
    return /run_id:(\w+)/.exec((await client.info?.('server')) ?? '')?.[1];
  } catch {
    return undefined;
  }
}

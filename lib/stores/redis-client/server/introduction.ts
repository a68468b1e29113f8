import type { Cluster, Redis } from 'ioredis';
import { now } from '../../../core/port/lease.js';
import type { ServerClock } from './server-clock.js';

// old store only

/** A server, as its INFO names it. */
export interface ServerId {
  /** Names the process. */
  readonly runId: string;
  /** Names the process since its last promotion. A former primary that is promoted again may have lost what it acknowledged before. */
  readonly primary: string;
}

/** The part of a client that is needed here; one that goes to any node of a Cluster has no `info`. */
interface InfoClient {
  readonly isCluster: boolean;
  info?(section: string): Promise<string>;
}

/**
 * Reads the id and the time of a server when a connection to it is ready. Never rejects.
 *
 * @param clock is told the time
 * @returns undefined where the id is not known (no permission, a Cluster with many servers)
 */
export async function introduce(client: Redis | Cluster, clock: ServerClock): Promise<ServerId | undefined> {
  if (client.isCluster) return undefined;
  const sentAt = now();
  const [runId, replicationId] = await Promise.all([
    readRunId(client),
    readInfo(client, 'replication', /master_replid:(\w+)/),
    client.time().then(
      ([seconds, micros]) => clock.observe(sentAt, now(), Number(seconds) * 1_000 + Number(micros) / 1_000),
      () => undefined,
    ),
  ]);
  return runId === undefined ? undefined : { runId, primary: `${runId}/${replicationId}` };
}

/** The run id of the server, or undefined where it cannot be read. Never rejects. */
export function readRunId(client: InfoClient): Promise<string | undefined> {
  return readInfo(client, 'server', /run_id:(\w+)/);
}

async function readInfo(client: InfoClient, section: string, field: RegExp): Promise<string | undefined> {
  if (client.isCluster) return undefined;
  try {
    return field.exec((await client.info?.(section)) ?? '')?.[1];
  } catch {
    return undefined;
  }
}

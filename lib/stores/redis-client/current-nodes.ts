import type { Cluster, NodeRole, Redis } from 'ioredis';
import { within } from './retry.js';

/**
 * The nodes of a Cluster as they are now, or the only server. ioredis asks which nodes there are when it connects and when it is
 * redirected, so its table lacks what joined meanwhile: it is refreshed first, for `limit` ms at the most. A refresh that fails leaves
 * the nodes that were known; the commands sent to them tell why.
 */
export async function currentNodes(
  client: Redis | Cluster,
  role: NodeRole,
  limit: number,
): Promise<readonly Redis[]> {
  if (!client.isCluster) return [client as Redis];
  const cluster = client as Cluster;
  const refreshed = new Promise<void>((resolve) => cluster.refreshSlotsCache(() => resolve()));
  await within(refreshed, limit).catch(() => undefined);
  return cluster.nodes(role);
}

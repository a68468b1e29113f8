import type { Cluster, NodeRole, Redis } from 'ioredis';
import { addressOf } from '../connection/cluster-nodes.js';
import { toCommandFailure } from '../server/server-failure.js';
import { atMost } from '../server/time-limit.js';

/**
 * Asks each Cluster node, or the only server. Returns the responses that came, and a sentence for each node that did not respond.
 *
 * @param limit how long to look for nodes that joined, ms
 * @param command must settle, also where a node never responds
 * @param missing completes the sentence about a node without a response: `did not report …`
 * @throws CommandFailure where no node responds
 */
export async function askNodes<T>(
  client: Redis | Cluster,
  role: NodeRole,
  limit: number,
  command: (node: Redis) => Promise<T>,
  missing: string,
): Promise<{ answers: T[]; problems: string[] }> {
  const nodes = await currentNodes(client, role, limit);
  const outcomes = await Promise.allSettled(nodes.map(command));
  const answers: T[] = [];
  const problems: string[] = [];
  let failure: unknown = new Error("Cluster isn't ready");
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') {
      answers.push(outcome.value);
    } else {
      failure = outcome.reason;
      problems.push(`The node ${addressOf(nodes[i]!)} ${missing}.`);
    }
  }
  if (answers.length === 0) throw toCommandFailure(failure);
  return { answers, problems };
}

/**
 * The Cluster nodes as they are now, or the only server. ioredis asks which nodes there are when it connects and when it is
 * redirected, so its table lacks nodes that joined since. The table is refreshed first, for `limit` ms at the most. If that fails, the
 * known nodes remain, and the commands sent to them report the cause.
 */
async function currentNodes(
  client: Redis | Cluster,
  role: NodeRole,
  limit: number,
): Promise<readonly Redis[]> {
  if (!client.isCluster) return [client as Redis];
  const cluster = client as Cluster;
  const refreshed = new Promise<void>((resolve) => cluster.refreshSlotsCache(() => resolve()));
  await atMost(refreshed, limit);
  return cluster.nodes(role);
}

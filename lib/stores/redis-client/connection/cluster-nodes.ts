import type { Cluster, Redis } from 'ioredis';
import { atMost } from '../server/time-limit.js';

/** Least time between two refreshes of the slot map, ms: a failover causes many refusals, and needs one refresh. */
const REFRESH_PAUSE = 100;

/** The nodes behind a Cluster client, which `CommandConnection` treats as one connection. */
export class ClusterNodes {
  private refreshedAt = -Infinity;
  private probing = false;

  /**
   * @param connected a node is connected, or other nodes may serve some of the slots
   * @param closed the connection to a node broke
   */
  constructor(
    private readonly cluster: Cluster,
    private readonly connected: () => void,
    private readonly closed: () => void,
  ) {
    for (const node of cluster.nodes()) this.watch(node);
    cluster.on('+node', (node: Redis) => this.watch(node));
    cluster.on('refresh', connected);
  }

  /** Refreshes the slot map: a command was rejected or its connection broke, and ioredis refreshes only on a redirection. */
  refresh(): void {
    const time = performance.now();
    if (time - this.refreshedAt < REFRESH_PAUSE || this.cluster.status !== 'ready') return;
    this.refreshedAt = time;
    this.cluster.refreshSlotsCache(() => undefined);
  }

  /**
   * Called when a node did not respond: pings all nodes, and drops the connections without a response within `limit` ms. Then their
   * commands fail, and later ones go to the node that serves their slots.
   */
  async probe(limit: number): Promise<void> {
    if (this.probing) return;
    this.probing = true;
    const nodes = this.cluster.nodes().filter(({ status }) => status === 'ready');
    await Promise.all(nodes.map((node) => dropIfSilent(node, limit)));
    this.probing = false;
    this.refresh();
  }

  private watch(node: Redis): void {
    node.on('ready', this.connected);
    node.on('close', () => {
      this.closed();
      this.refresh();
    });
    if (node.status === 'ready') this.connected();
  }
}

/** Resolves when it has answered, be it by an error, or its connection was dropped. Never rejects. */
async function dropIfSilent(node: Redis, limit: number): Promise<void> {
  const answered = node.ping().then(
    () => true,
    () => true,
  );
  if (!(await atMost(answered, limit))) node.disconnect();
}

/** Where a node listens, as in the table of slots. */
export function addressOf({ options }: Redis): string {
  return `${options.host}:${options.port}`;
}

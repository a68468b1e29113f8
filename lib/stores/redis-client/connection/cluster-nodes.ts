import type { Cluster, Redis } from 'ioredis';
import { hashSlot } from './hash-slot.js';
import { introduce } from '../server/introduction.js';
import type { ServerClocks } from '../server/server-clock.js';
import { atMost } from '../server/time-limit.js';

/** Least time between two refreshes of the slot map, ms: a failover causes many refusals, and needs one refresh. */
const REFRESH_PAUSE = 100;

/** The nodes behind a Cluster client, which `CommandConnection` treats as one connection. */
export class ClusterNodes {
  /** The primary at each address, as far as its node is connected. */
  private readonly servers = new Map<string, string>();
  private connections = 0;
  private refreshedAt = -Infinity;
  private probing = false;

  /**
   * @param onServers another server answers for some of the slots, or it became known which one
   * @param onGone the connection to the node at this address broke
   * @param clocks are told the time of each node that connects
   */
  constructor(
    private readonly cluster: Cluster,
    private readonly onServers: () => void,
    private readonly onGone: (address: string) => void,
    private readonly clocks: ServerClocks,
  ) {
    for (const node of cluster.nodes()) this.watch(node);
    cluster.on('+node', (node: Redis) => this.watch(node));
    cluster.on('refresh', () => this.onServers());
  }

  /** Where the node listens that serves the slot of `key`; undefined while that is not known. */
  addressOf(key: string): string | undefined {
    return this.cluster.slots[hashSlot(key)]?.[0];
  }

  /** Which primary serves the slot of `key`; undefined while that is not known. */
  serverOf(key: string): string | undefined {
    return this.servers.get(this.addressOf(key) ?? '');
  }

  /** Refreshes the slot map: a command was refused or its connection broke, and ioredis refreshes only on a redirection. */
  refresh(): void {
    const time = performance.now();
    if (time - this.refreshedAt < REFRESH_PAUSE || this.cluster.status !== 'ready') return;
    this.refreshedAt = time;
    this.cluster.refreshSlotsCache(() => undefined);
  }

  /**
   * Called when a node did not answer: pings all nodes, and drops the connections without an answer within `limit` ms. Then their
   * commands fail, and later ones go to the node that serves their slots.
   */
  probe(limit: number): void {
    if (this.probing) return;
    this.probing = true;
    const probes = this.cluster
      .nodes()
      .filter(({ status }) => status === 'ready')
      .map((node) => dropIfSilent(node, limit));
    void Promise.all(probes).then(() => {
      this.probing = false;
      this.refresh();
    });
  }

  private watch(node: Redis): void {
    const address = addressOf(node);
    const onReady = (): void => {
      this.connections += 1;
      // If its id is not known, each connection counts as another server.
      const unnamed = `connection ${this.connections}`;
      void introduce(node, this.clocks.of(address)).then((id) =>
        this.answers(address, id?.primary ?? unnamed),
      );
    };
    node.on('ready', onReady);
    node.on('close', () => {
      this.servers.delete(address);
      this.onGone(address);
      this.refresh();
    });
    if (node.status === 'ready') onReady();
  }

  private answers(address: string, server: string): void {
    this.servers.set(address, server);
    this.onServers();
  }
}

/** Resolves when it has answered, or its connection was dropped. Never rejects. */
async function dropIfSilent(node: Redis, limit: number): Promise<void> {
  // An error reply is also an answer.
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

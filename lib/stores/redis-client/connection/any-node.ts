import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';
import { AbstractConnector, Redis, type Cluster, type RedisOptions } from 'ioredis';
import { addressOf } from './cluster-nodes.js';
import { DISCONNECT_TIMEOUT, OWN_OPTIONS, reconnectDelay } from './own-options.js';

/**
 * A connection to one Cluster node, for listening: a message published on any node reaches all nodes. Each time the connection
 * breaks, another node is tried.
 *
 * The subscriber inside a Cluster client cannot be used for this: it emits no event when it changes nodes or fails to subscribe, so
 * nobody would know that messages are lost (`ClusterSubscriber` of ioredis).
 */
export class AnyNode extends Redis {
  /** @param source knows the nodes, and is closed with this connection */
  constructor(private readonly source: Cluster) {
    super({
      ...source.options.redisOptions,
      ...OWN_OPTIONS,
      keyPrefix: '',
      Connector: NodeConnector.bind(undefined, source),
    } as RedisOptions & { replyMapping: 'legacy' });
  }

  override disconnect(reconnect = false): void {
    super.disconnect(reconnect);
    if (!reconnect) this.source.disconnect();
  }
}

class NodeConnector extends AbstractConnector {
  private last: string | undefined;

  constructor(private readonly cluster: Cluster) {
    super(DISCONNECT_TIMEOUT);
  }

  /** Ends only with a socket, or when the client is closed: a client of ioredis whose connector fails never connects again. */
  override async connect(): Promise<Socket> {
    this.connecting = true;
    for (let attempt = 1; this.connecting; attempt += 1) {
      const node = anyOf(await nodesOf(this.cluster), this.last);
      if (node && this.connecting) {
        this.last = addressOf(node);
        const { host, port, family, tls } = node.options;
        const address = { host, port, family } as { port: number };
        const socket = tls ? connectTls({ ...address, ...tls }) : connect(address);
        this.stream = socket;
        socket.once('error', (error: Error) => (this.firstError = error));
        return socket;
      }
      await delay(reconnectDelay(attempt), undefined, { ref: false });
    }
    throw new Error('Connection is closed.');
  }
}

/**
 * The nodes as they are now; none while they are not known. The user's first address may belong to a node that has left the Cluster and
 * does not get messages, and this client sends no commands that would find out.
 */
async function nodesOf(cluster: Cluster): Promise<Redis[]> {
  if (cluster.status === 'wait') await cluster.connect().catch(() => undefined);
  if (cluster.status !== 'ready') return [];
  const failed = await new Promise<unknown>((resolve) => cluster.refreshSlotsCache(resolve));
  if (failed) cluster.disconnect(true);
  return failed ? [] : cluster.nodes();
}

/** Chooses a node other than `last` if there is one, since `last` may never respond again. */
function anyOf(nodes: readonly Redis[], last: string | undefined): Redis | undefined {
  const others = nodes.filter((node) => addressOf(node) !== last);
  const choice = others.length > 0 ? others : nodes;
  return choice[Math.floor(Math.random() * choice.length)];
}

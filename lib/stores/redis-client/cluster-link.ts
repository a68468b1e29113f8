import { Redis, type Cluster, type RedisOptions } from 'ioredis';
import { DirectLink, type NetStream } from './direct-link.js';
import { OWN_OPTIONS } from './own-options.js';

/**
 * A connection to some node of a Cluster, each time it is made to another one. That is enough to listen: what is
 * published on any node reaches all of them.
 *
 * The subscriber inside of a Cluster client is of no use here: it changes nodes without telling, and does not tell either
 * when it fails to subscribe there.
 *
 * @param cluster knows the nodes, and ends with the link
 */
export function linkToAnyNode(cluster: Cluster): Redis {
  class ToAnyNode extends DirectLink {
    private wake: (() => void) | undefined;
    private last: string | undefined;

    /** @throws Error when nobody wants the connection any more */
    override async connect(): Promise<NetStream> {
      this.connecting = true;
      look(cluster);
      let node = anyOf(cluster.nodes(), this.last);
      while (!node) {
        if (!this.connecting || cluster.status === 'end') throw new Error('Connection is closed.');
        await new Promise<void>((resolve) => {
          this.wake = resolve;
          cluster.once('+node', resolve).once('end', resolve);
        });
        cluster.off('+node', this.wake!).off('end', this.wake!);
        node = anyOf(cluster.nodes(), this.last);
      }
      this.last = nameOf(node);
      return this.open(node.options);
    }

    override disconnect(): void {
      super.disconnect();
      this.wake?.();
    }
  }
  const options = { ...cluster.options.redisOptions, ...OWN_OPTIONS, keyPrefix: '', Connector: ToAnyNode };
  const link = new Redis(options as RedisOptions & { replyMapping: 'legacy' });
  link.once('end', () => cluster.disconnect());
  return link;
}

/** Nobody else sends commands by this client, so what it knows of the nodes is as old as the last connection. */
function look(cluster: Cluster): void {
  if (cluster.status === 'wait') cluster.connect().catch(() => undefined);
  if (cluster.status !== 'ready') return;
  cluster.refreshSlotsCache((error) => {
    if (error) cluster.disconnect(true);
  });
}

/** Another one than the last, if there is one: that may be silent for good. */
function anyOf(nodes: readonly Redis[], last: string | undefined): Redis | undefined {
  const others = nodes.filter((node) => nameOf(node) !== last);
  const choice = others.length > 0 ? others : nodes;
  return choice[Math.floor(Math.random() * choice.length)];
}

function nameOf({ options }: Redis): string {
  return `${options.host}:${options.port}`;
}

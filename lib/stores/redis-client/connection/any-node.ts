import { EventEmitter } from 'node:events';
import type { Cluster, Redis } from 'ioredis';
import { addressOf } from './cluster-nodes.js';
import { limitHandshake } from './frozen-servers.js';
import { CONNECT_TIMEOUT, GrowingPauses, OWN_OPTIONS } from './own-options.js';
import type { SubscriberClient } from './subscriber.js';

/**
 * A connection to one node of a Cluster, for listening: a message published on any node reaches all nodes. Each time the connection
 * breaks, another node is tried.
 *
 * The subscriber inside a Cluster client cannot be used for this: it emits no event when it changes nodes or fails to subscribe.
 */
export class AnyNode extends EventEmitter implements SubscriberClient {
  readonly isCluster = true;
  private node: Redis | undefined;
  private last: string | undefined;
  private state: 'wait' | 'open' | 'closing' | 'end' = 'wait';
  private readonly pauses = new GrowingPauses();
  private pause: NodeJS.Timeout | undefined;

  /** @param cluster knows the nodes, and is closed with this connection */
  constructor(private readonly cluster: Cluster) {
    super();
    // Not before `refresh`: the user's first address may belong to a node that has left the Cluster and gets no messages.
    cluster.on('refresh', () => this.open());
    cluster.on('end', () => this.end());
  }

  get status(): string {
    return this.state === 'open' ? (this.node?.status ?? 'connecting') : this.state;
  }

  connect(): Promise<void> {
    this.state = 'open';
    this.next();
    return Promise.resolve();
  }

  disconnect(reconnect = false): void {
    if (!reconnect) this.state = 'closing';
    if (this.node) this.node.disconnect();
    else if (!reconnect) this.end();
  }

  subscribe(...channels: string[]): Promise<unknown> {
    return this.node?.subscribe(...channels) ?? notConnected();
  }

  unsubscribe(...channels: string[]): Promise<unknown> {
    return this.node?.unsubscribe(...channels) ?? notConnected();
  }

  private next(): void {
    if (this.state !== 'open') return;
    refreshNodes(this.cluster);
    this.open();
  }

  /** Connects to a node, if there is one and nothing else is under way. */
  private open(): void {
    if (this.state !== 'open' || this.node || this.pause) return;
    const known = anyOf(this.cluster.nodes(), this.last);
    if (!known) return;
    this.last = addressOf(known);
    const node = known.duplicate({ ...OWN_OPTIONS, keyPrefix: '', retryStrategy: null });
    this.node = node;
    limitHandshake(node, CONNECT_TIMEOUT);
    node.on('error', () => undefined);
    node.on('message', (channel, message) => this.emit('message', channel, message));
    node.on('ready', () => {
      this.pauses.ready();
      this.emit('ready');
    });
    node.on('close', () => this.emit('close'));
    node.on('end', () => this.closed());
    node.connect().catch(() => undefined);
  }

  private closed(): void {
    this.node = undefined;
    if (this.state !== 'open') return this.end();
    this.pause = setTimeout(() => {
      this.pause = undefined;
      this.next();
    }, this.pauses.next());
  }

  private end(): void {
    if (this.state === 'end') return;
    this.state = 'end';
    clearTimeout(this.pause);
    this.node?.disconnect();
    this.emit('end');
    this.cluster.disconnect();
  }
}

function notConnected(): Promise<never> {
  return Promise.reject(new Error('Connection is closed.'));
}

/** Refreshes the list of nodes. This client sends no commands, so the list is as old as the last connection. */
function refreshNodes(cluster: Cluster): void {
  if (cluster.status === 'wait') cluster.connect().catch(() => undefined);
  if (cluster.status !== 'ready') return;
  cluster.refreshSlotsCache((error) => {
    if (error) cluster.disconnect(true);
  });
}

/** Chooses a node other than `last` if there is one, since `last` may never answer again. */
function anyOf(nodes: readonly Redis[], last: string | undefined): Redis | undefined {
  const others = nodes.filter((node) => addressOf(node) !== last);
  const choice = others.length > 0 ? others : nodes;
  return choice[Math.floor(Math.random() * choice.length)];
}

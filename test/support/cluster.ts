import { Cluster, type ClusterOptions, type Redis } from 'ioredis';
import { adminOf, freePort, revive, startRedisServer, stopAll, type RedisServer } from './redis.js';
import { eventually } from './waiting.js';

const HOST = '127.0.0.1';
const SLOTS = 16_384;
/** Nodes gossip once a second or so until all know of each other. */
const MEETING = 30_000;
/** How long a node may be silent before the others take it for failing, ms. */
export const NODE_TIMEOUT = 1_000;
/**
 * From a node's silence to its replica's promotion, ms: the node timeout, half of it until a ping of all nodes has
 * gone out, up to a second of election delay, and the votes.
 */
export const FAILOVER = NODE_TIMEOUT * 1.5 + 1_500;

type Address = [host: string, port: number, id: string];
type SlotRange = [from: number, to: number, master: Address, ...replicas: Address[]];

/** One node of the Cluster. */
export interface Node {
  readonly server: RedisServer;
  /** Where the nodes talk among themselves. */
  readonly busPort: number;
  readonly id: string;
  readonly admin: Redis;
}

/** A Redis Cluster on loopback and free ports: so many masters, each with so many replicas. */
export class RedisCluster {
  private readonly moving = new Set<number>();
  private readonly departed: Node[] = [];

  private constructor(private readonly all: Node[]) {}

  static async start(masters = 3, replicas = 1): Promise<RedisCluster> {
    const nodes = await Promise.all(Array.from({ length: masters * (1 + replicas) }, startNode));
    const cluster = new RedisCluster(nodes);
    await cluster.assemble(masters);
    return cluster;
  }

  /** Where a client may begin. */
  get addresses(): { host: string; port: number }[] {
    return this.all.map(({ server }) => ({ host: HOST, port: server.port }));
  }

  get nodes(): readonly Node[] {
    return this.all;
  }

  /** A client that has no part in the lock. It is not connected before its first command. */
  client(options: ClusterOptions = {}): Cluster {
    const all = { lazyConnect: true, ...options } as ConstructorParameters<typeof Cluster>[1];
    const client = new Cluster(this.addresses, all);
    client.on('error', () => undefined);
    return client;
  }

  /** The node that serves the slot of `key`, as the others see it. */
  async masterOf(key: string): Promise<Node> {
    const slot = await this.slotOf(key);
    return this.byId(await this.ask((node) => ownerOf(slot, node)));
  }

  /** The replicas of a node, as they see themselves. */
  async replicasOf({ id }: Node): Promise<Node[]> {
    const lines = (await this.ask(({ admin }) => admin.cluster('REPLICAS', id))) as string[];
    return lines.map((line) => this.byId(line.split(' ')[0]));
  }

  /** Another master than `node`. */
  async otherMaster(node: Node): Promise<Node> {
    const roles = await Promise.all(this.running().map(async (one) => ({ one, role: await roleOf(one) })));
    const found = roles.find(({ one, role }) => one !== node && role === 'master');
    if (!found) throw new Error('There is no other master.');
    return found.one;
  }

  slotOf(key: string): Promise<number> {
    return this.ask(({ admin }) => admin.cluster('KEYSLOT', key));
  }

  /** The slot of `key` is about to move to `target`: until it has, keys are here or there, and answers redirect. */
  async beginMove(key: string, target: Node): Promise<void> {
    const [source, slot] = [await this.masterOf(key), await this.slotOf(key)];
    this.moving.add(slot);
    await target.admin.cluster('SETSLOT', slot, 'IMPORTING', source.id);
    await source.admin.cluster('SETSLOT', slot, 'MIGRATING', target.id);
  }

  /** Moves up to `count` keys of that slot; the result tells how many it was. */
  async moveKeys(key: string, target: Node, count = 100): Promise<number> {
    const [source, slot] = [await this.masterOf(key), await this.slotOf(key)];
    const keys = await source.admin.cluster('GETKEYSINSLOT', slot, count);
    if (keys.length > 0) {
      const { port } = target.server;
      await source.admin.call('MIGRATE', HOST, String(port), '', '0', '5000', 'KEYS', ...keys);
    }
    return keys.length;
  }

  /** Resolves when every node that runs knows where the slot is: a replica learns it by gossip. */
  async endMove(key: string, target: Node): Promise<void> {
    const slot = await this.slotOf(key);
    const masters = (await this.roles()).filter(({ role }) => role === 'master').map(({ node }) => node);
    // The target first, so that no node sends it a question before it knows that it is the one to answer.
    for (const node of [target, ...masters.filter((one) => one !== target)]) {
      await node.admin.cluster('SETSLOT', slot, 'NODE', target.id);
    }
    this.moving.delete(slot);
    const moved = async (): Promise<boolean> => {
      const owners = await Promise.all(this.running().map((node) => ownerOf(slot, node)));
      return owners.every((id) => id === target.id);
    };
    await eventually(moved, MEETING, 'all nodes to know that a slot has moved');
  }

  /** Moves the slot of `key`, as `redis-cli --cluster reshard` does. */
  async move(key: string, target: Node): Promise<void> {
    await this.beginMove(key, target);
    while ((await this.moveKeys(key, target)) > 0);
    await this.endMove(key, target);
  }

  /** Resolves when the slot of `key` is served by another node than `former`, which takes itself for the master. */
  async promoted(key: string, former: Node): Promise<Node> {
    let now: Node | undefined;
    await eventually(
      async () => {
        now = await this.masterOf(key);
        return now !== former && (await roleOf(now)) === 'master';
      },
      MEETING,
      'a failover',
    );
    return now!;
  }

  /** A further replica of `master`. Resolves when all nodes know it. */
  async join(master: Node): Promise<Node> {
    const node = await startNode();
    this.all.push(node);
    await meet(master, node);
    await follow(node, master);
    await eventually(() => this.agree(), MEETING, 'all nodes to know the new one');
    return node;
  }

  /** A replica is taken out of the Cluster, as `redis-cli --cluster del-node` does, and stays up. */
  async leave(node: Node): Promise<void> {
    this.departed.push(...this.all.splice(this.all.indexOf(node), 1));
    await Promise.all(this.all.map(({ admin }) => admin.call('CLUSTER', 'FORGET', node.id)));
    await node.admin.call('CLUSTER', 'RESET', 'SOFT');
  }

  /** Resolves when every node that runs finds the Cluster in order, and every master has its replicas. */
  async whole(replicas = 1): Promise<void> {
    const isWhole = async (): Promise<boolean> => {
      const infos = await Promise.all(this.all.map(({ admin }) => admin.cluster('INFO').catch(() => '')));
      if (!infos.every((info) => String(info).includes('cluster_state:ok'))) return false;
      if (!(await this.agree())) return false;
      const roles = await this.roles();
      const synced = roles.filter(({ role, link }) => role === 'slave' && link === 'connected');
      const masters = roles.filter(({ role }) => role === 'master');
      if (synced.length !== roles.length - masters.length) return false;
      const views = await Promise.all(masters.map(({ node }) => this.replicasOf(node).catch(() => [])));
      return views.filter((view) => view.length >= replicas).length * (1 + replicas) >= this.all.length;
    };
    await eventually(isWhole, MEETING, 'the Cluster to be whole');
  }

  /** Those that were killed or frozen are back; resolves when the Cluster is whole again. */
  async revive(...nodes: readonly Node[]): Promise<void> {
    await revive(nodes.map(({ server }) => server));
    await this.whole();
  }

  /** Nodes that were killed or frozen are back, no slot is on its way, and there is no key. */
  async heal(): Promise<void> {
    await this.revive(...this.all);
    for (const { node, role } of await this.roles()) {
      if (role === 'master') await node.admin.flushall();
      for (const slot of this.moving)
        await node.admin.cluster('SETSLOT', slot, 'STABLE').catch(() => undefined);
    }
    this.moving.clear();
  }

  async stop(): Promise<void> {
    const nodes = [...this.all, ...this.departed];
    for (const { admin } of nodes) admin.disconnect();
    await stopAll(nodes.map(({ server }) => server));
  }

  /** What the first to answer says: a frozen node looks as if it ran, and never does. */
  private ask<T>(command: (node: Node) => Promise<T>): Promise<T> {
    return Promise.any(this.running().map(command));
  }

  private running(): Node[] {
    return this.all.filter(({ admin }) => admin.status === 'ready');
  }

  private async roles(): Promise<{ node: Node; role: string; link: string }[]> {
    return Promise.all(
      this.running().map(async (node) => {
        const [role, , , link] = (await node.admin.role()) as [string, unknown, unknown, string];
        return { node, role, link };
      }),
    );
  }

  /** Whether all nodes have the same table of slots, as a client would read it, with all of them in it. */
  private async agree(): Promise<boolean> {
    const tables = await Promise.all(this.all.map((node) => slotsOf(node).catch(() => [])));
    const [first = '', ...others] = tables.map(textOf);
    return this.all.every(({ id }) => first.includes(id)) && others.every((other) => other === first);
  }

  private byId(id: string | undefined): Node {
    const node = this.all.find((one) => one.id === id);
    if (!node) throw new Error(`No node of the Cluster is called ${id}.`);
    return node;
  }

  private async assemble(masters: number): Promise<void> {
    const [first] = this.all as [Node];
    for (const [i, { admin }] of this.all.entries()) {
      if (i >= masters) continue;
      const [from, to] = [i, i + 1].map((part) => Math.floor((SLOTS * part) / masters)) as [number, number];
      await admin.call('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to - 1));
    }
    for (const node of this.all) await meet(first, node);
    const known = `cluster_known_nodes:${this.all.length}`;
    const met = async (): Promise<boolean> => {
      const infos = await Promise.all(this.all.map(({ admin }) => admin.cluster('INFO')));
      return infos.every((info) => String(info).includes(known));
    };
    await eventually(met, MEETING, 'the nodes to meet');
    for (const [i, node] of this.all.entries()) {
      const master = this.all[i % masters];
      if (i >= masters && master) await follow(node, master);
    }
    await this.whole(this.all.length / masters - 1);
  }
}

/** The table of slots, as `node` sees it. */
async function slotsOf({ admin }: Node): Promise<SlotRange[]> {
  return (await admin.cluster('SLOTS')) as unknown as SlotRange[];
}

/** The id of the master that serves a slot, as `node` sees it. */
async function ownerOf(slot: number, node: Node): Promise<string | undefined> {
  return (await slotsOf(node)).find(([from, to]) => from <= slot && slot <= to)?.[2][2];
}

/** Each range with its master and its replicas; two nodes may name ranges and replicas in different orders. */
function textOf(table: readonly SlotRange[]): string {
  const ranges = table.map(([from, to, [, , master], ...replicas]) => {
    const followers = replicas.map(([, , id]) => id).sort();
    return [from, to, master, ...followers].join(' ');
  });
  return ranges.sort().join('\n');
}

/** `node` becomes a replica of `master`, once it has learnt by gossip that the other is a master. */
function follow({ admin }: Node, master: Node): Promise<void> {
  const replicate = (): Promise<boolean> =>
    admin.call('CLUSTER', 'REPLICATE', master.id).then(
      () => true,
      () => false,
    );
  return eventually(replicate, MEETING, 'a replica to follow its master');
}

function meet({ admin }: Node, { server, busPort }: Node): Promise<unknown> {
  return admin.call('CLUSTER', 'MEET', HOST, String(server.port), String(busPort));
}

async function startNode(): Promise<Node> {
  // By itself it would be the port and 10,000, which need not be free, nor a port.
  const busPort = await freePort();
  const server = await startRedisServer({
    config: {
      'cluster-enabled': 'yes',
      'cluster-node-timeout': NODE_TIMEOUT,
      'cluster-port': busPort,
      'cluster-replica-validity-factor': 0,
      'repl-diskless-sync-delay': 0,
      'repl-ping-replica-period': 1,
    },
  });
  const admin = adminOf(server);
  await admin.connect();
  return { server, busPort, admin, id: await admin.cluster('MYID') };
}

async function roleOf({ admin }: Node): Promise<string> {
  return ((await admin.role()) as [string])[0];
}

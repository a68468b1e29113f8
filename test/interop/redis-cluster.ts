import { startRedisServer, type RedisServer } from '../support/redis.js';
import { eventually } from '../support/waiting.js';

const SLOTS = 16_384;
const NODES = 3;
/** Nodes gossip once a second or so until all know of each other. */
const MEETING = 20_000;

/** A Redis Cluster of three masters, on loopback and on free ports. */
export class RedisCluster {
  private constructor(private readonly servers: readonly RedisServer[]) {}

  static async start(): Promise<RedisCluster> {
    const config = { 'cluster-enabled': 'yes', 'cluster-node-timeout': '2000' };
    const servers = await Promise.all(Array.from({ length: NODES }, () => startRedisServer({ config })));
    const [first] = servers;
    for (const [i, server] of servers.entries()) {
      const [from, to] = [i, i + 1].map((part) => Math.floor((SLOTS * part) / NODES));
      await server.command('cluster', 'addslotsrange', `${from}`, `${(to ?? SLOTS) - 1}`);
      await server.command('cluster', 'meet', '127.0.0.1', `${first?.port}`);
    }
    const isWhole = async (server: RedisServer): Promise<boolean> => {
      const info = String(await server.command('cluster', 'info'));
      return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${NODES}`);
    };
    await eventually(
      async () => (await Promise.all(servers.map(isWhole))).every(Boolean),
      MEETING,
      'the nodes to meet',
    );
    return new RedisCluster(servers);
  }

  /** Of one node; a client finds the others. */
  get url(): string {
    return this.servers[0]?.url ?? '';
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
  }
}

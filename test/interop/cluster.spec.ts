import type { Cluster } from 'ioredis';
import { RedisCluster } from '../support/cluster.js';
import { eventually, SOON } from '../support/waiting.js';
import { hostClock, type Peer } from './peer.js';
import { describeWithRedisson } from './with-redisson.js';

/** A wake-up takes a few ms. Without its message it takes a third of the lease: 20 s. */
const LEASE = 60_000;
const PROMPT = 2_000;

describeWithRedisson('On a Cluster', LEASE, (interop) => {
  let servers: RedisCluster;
  let cluster: Cluster;
  let java: Peer;
  let node: Peer;

  beforeAll(async () => {
    servers = await RedisCluster.start(3, 0);
    cluster = servers.client();
    const where = { redis: servers.nodes[0]!.server.url, kind: 'cluster' } as const;
    [java, node] = [await interop.java(where), await interop.node(where)];
  });
  afterAll(async () => {
    cluster.disconnect();
    await servers.stop();
  });

  test('each language wakes the other by message, whatever channels it listens to', async () => {
    for (const lock of ['order:1', 'order:2', '{tag}:order', 'order:{tag}']) {
      const queue = lock.includes('{') ? `redisson_lock_queue:${lock}` : `redisson_lock_queue:{${lock}}`;
      const workers = [
        java.worker('j1'),
        node.worker('n1'),
        java.worker('j2'),
        node.worker('n2'),
        node.worker('n3'),
      ];
      await workers[0]?.does('lock', lock);
      for (const [i, worker] of workers.entries()) {
        if (i === 0) continue;
        worker.send('lock', lock);
        await eventually(async () => (await cluster.llen(queue)) === i, SOON, `${worker.name} to be in line`);
      }
      await eventually(async () => (await listeners(lock)) === workers.length - 1, SOON, 'all to listen');
      for (const [i, worker] of workers.entries()) {
        const at = hostClock();
        expect(await worker.does('unlock', lock)).toMatchObject({ event: 'released' });
        const next = workers[i + 1];
        if (!next) break;
        expect(await next.next()).toMatchObject({ event: 'granted' });
        expect(interop.took(at)).toBeLessThan(PROMPT);
      }
      expect(await cluster.exists(lock)).toBe(0);
    }
  });

  test('a name whose keys the Cluster would tear apart is refused', async () => {
    expect(await node.worker('n4').does('lock', 'torn{apart')).toMatchObject({ event: 'failed' });
    expect(await java.worker('j4').does('lock', 'torn{apart')).toMatchObject({ event: 'failed' });
  });

  /** How many waiters have subscribed, on channels of either kind. */
  async function listeners(lock: string): Promise<number> {
    const kinds = ['CHANNELS', 'SHARDCHANNELS'] as const;
    const asked = cluster
      .nodes('master')
      .flatMap((master) => kinds.map((kind) => master.call('PUBSUB', kind)));
    const channels = ((await Promise.all(asked)) as string[][]).flat();
    return new Set(channels.filter((channel) => channel.includes(lock))).size;
  }
});

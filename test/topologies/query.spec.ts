import { Cluster, Redis } from 'ioredis';
import type { LockOverview } from '../../lib/core/query/lock-overview.js';
import { RedisCluster, type Node } from '../support/cluster.js';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { clientChannels, uniquePrefix } from '../support/redis.js';
import { eventually, SOON } from '../support/waiting.js';

/** Many clients in one process, beside six servers: on a busy machine a command takes its time. */
const TIMES = { lease: 30_000, livenessWindow: 15_000, commandTimeout: 10_000 };

describe('query on a Cluster', () => {
  let cluster: RedisCluster;
  const prefix = uniquePrefix();
  const clients = new InProcessClients(prefix);
  const patient = new InProcessClients(prefix, TIMES);
  beforeAll(async () => {
    cluster = await RedisCluster.start();
  });
  afterAll(async () => {
    await Promise.all([clients.close(), patient.close()]);
    await cluster.stop();
  });

  test('finds clients that listen on different nodes, and orphans on all of them', async () => {
    const source = cluster.client();
    const all = await Promise.all(Array.from({ length: 6 }, () => patient.start(source)));
    await eventually(async () => (await all[0]!.service.health()).listening, SOON, 'the subscription');
    const locks = await Promise.all(
      all.map(({ service }, i) => service.acquire(`order:${i}`, { label: `flow ${i}` })),
    );
    await eventually(
      async () => (await all[0]!.service.query()).processes.length === all.length,
      SOON,
      'an answer of each client',
    );
    const overview = await all[1]!.service.query({ orphans: true, timeout: SOON });
    expect(overview).toMatchObject({ silent: [], problems: [] });
    expect(overview.locks.map(({ key, holder, orphan }) => [key, holder?.label, orphan]).sort()).toEqual(
      all.map((_, i) => [`order:${i}`, `flow ${i}`, false]),
    );
    await Promise.all(locks.map((lock) => lock.release()));
    source.disconnect();
  });

  test('names the nodes that do not answer, and shows what the others know', async () => {
    const source = cluster.client();
    const one = await clients.start(source);
    const lost = await cluster.masterOf(`${prefix}:{lost}`);
    const kept = await one.service.acquire(await keyOfOther(lost));
    const frozen = [lost, ...(await cluster.replicasOf(lost))];
    await Promise.all(frozen.map(({ server }) => server.kill('SIGSTOP')));
    try {
      // On a busy machine one answer of the others may take longer than a command's limit.
      let overview: LockOverview | undefined;
      const asked = async (): Promise<boolean> => {
        overview = await one.service.query({ orphans: true }).catch(() => undefined);
        return overview !== undefined;
      };
      await eventually(asked, SOON, 'an overview');
      const { locks, problems } = overview!;
      expect(locks.map(({ key }) => key)).toContain(kept.key);
      const node = `The node 127.0.0.1:${lost.server.port} did not report which`;
      expect(problems).toContain(`${node} processes listen there.`);
      expect(problems).toContain(`${node} locks it keeps.`);
    } finally {
      await cluster.revive(...frozen);
    }
    await kept.release();
    source.disconnect();
  });

  /** A key that is kept on another node. */
  async function keyOfOther(node: Node): Promise<string> {
    for (let i = 0; ; i += 1)
      if ((await cluster.masterOf(`${prefix}:{kept:${i}}`)) !== node) return `kept:${i}`;
  }

  test('finds a client that listens on a node which joined the Cluster later', async () => {
    const source = cluster.client();
    const early = await clients.start(source);
    await early.service.query();
    const { server } = await cluster.join(await cluster.masterOf('any'));
    // Its messages come by the new node, and its commands go where the keys are.
    const late = await clients.start((role) =>
      role === 'subscriber' ? new Redis(server.url) : cluster.client(),
    );
    await eventually(async () => (await late.service.health()).listening, SOON, 'the subscription');
    const lock = await late.service.acquire('order:late');
    // A node drops messages of one that it does not yet know; so it may take a second query.
    const found = async (): Promise<boolean> => {
      const { locks } = await early.service.query({ key: 'order:late' });
      return locks[0]?.holder?.token === lock.token;
    };
    await eventually(found, SOON, 'the report of the late client');
    await lock.release();
    source.disconnect();
  });

  test('a client whose node has left the Cluster finds it although it is idle, and listens to another', async () => {
    const leaver = await cluster.join(await cluster.masterOf('any'));
    const deaf = await listenerAt(leaver);
    await cluster.leave(leaver);
    await eventually(async () => !(await deaf.service.health()).listening, SOON, 'the loss to be found');
    await eventually(async () => (await deaf.service.health()).listening, SOON, 'the new subscription');
    expect((await deaf.service.query()).silent).toEqual([]);
    await clients.close();
    // No client chooses it by its old address either.
    const { server } = leaver;
    const source = new Cluster([{ port: server.port }, { port: cluster.nodes[0]!.server.port }], {
      lazyConnect: true,
    });
    await Promise.all(Array.from({ length: 6 }, () => patient.start(source)));
    expect(await listenersAt(leaver)).toEqual([]);
    source.disconnect();
  });

  const listenersAt = async ({ admin }: Node): Promise<string[]> => {
    const channels = await clientChannels(admin, `${prefix}:client:*`);
    return channels.map((channel) => channel.slice(`${prefix}:client:`.length));
  };

  /** Each client listens to some node: there are as many as it takes until one listens to this one. */
  async function listenerAt(node: Node): Promise<InProcessClient> {
    for (;;) {
      const client = await clients.start(cluster.client());
      await eventually(async () => (await client.service.health()).listening, SOON, 'the subscription');
      if ((await listenersAt(node)).includes(client.store.peers.self.clientId)) return client;
    }
  }
});

import { Redis } from 'ioredis';
import { RedisCluster, type Node } from '../support/cluster.js';
import { InProcessClients } from '../support/in-process-client.js';
import { uniquePrefix } from '../support/redis.js';
import { eventually, SOON } from '../support/waiting.js';

/** Many clients in one process, beside six servers: on a busy machine a command takes its time. */
const TIMES = { lease: 30_000, livenessWindow: 15_000, commandTimeout: 10_000 };

describe('query on a Cluster', () => {
  let cluster: RedisCluster;
  const prefix = uniquePrefix();
  const clients = new InProcessClients(prefix, TIMES);
  beforeAll(async () => {
    cluster = await RedisCluster.start();
  });
  afterAll(async () => {
    await clients.close();
    await cluster.stop();
  });

  test('finds clients that listen on different nodes, and orphans on all of them', async () => {
    const source = cluster.client();
    const all = await Promise.all(Array.from({ length: 6 }, () => clients.start(source)));
    await eventually(async () => (await all[0]!.engine.health()).listening, SOON, 'the subscription');
    const locks = await Promise.all(
      all.map(({ engine }, i) => engine.acquire(`order:${i}`, { label: `flow ${i}` })),
    );
    await eventually(
      async () => (await all[0]!.engine.query()).processes.length === all.length,
      SOON,
      'an answer of each client',
    );
    const overview = await all[1]!.engine.query({ orphans: true, timeout: SOON });
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
    const kept = await one.engine.acquire(await keyOfOther(lost));
    const frozen = [lost, ...(await cluster.replicasOf(lost))];
    await Promise.all(frozen.map(({ server }) => server.kill('SIGSTOP')));
    try {
      const { locks, problems } = await one.engine.query({ orphans: true });
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
    await early.engine.query();
    const { server } = await cluster.join(cluster.nodes[0]!);
    // Its messages come by the new node, and its commands go where the keys are.
    const late = await clients.start((role) =>
      role === 'subscriber' ? new Redis(server.url) : cluster.client(),
    );
    await eventually(async () => (await late.engine.health()).listening, SOON, 'the subscription');
    const lock = await late.engine.acquire('order:late');
    // A node drops messages of one that it does not yet know; so it may take a second query.
    const found = async (): Promise<boolean> => {
      const { locks } = await early.engine.query({ key: 'order:late' });
      return locks[0]?.holder?.token === lock.token;
    };
    await eventually(found, SOON, 'the report of the late client');
    await lock.release();
    source.disconnect();
  });
});

import { RedisCluster } from '../support/cluster.js';
import { InProcessClients } from '../support/in-process-client.js';
import { uniquePrefix } from '../support/redis.js';
import { eventually, SOON } from '../support/waiting.js';

describe('query on a Cluster', () => {
  let cluster: RedisCluster;
  const clients = new InProcessClients(uniquePrefix());
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
      async () => (await all[0]!.engine.query({ timeout: SOON })).processes.length === all.length,
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
});

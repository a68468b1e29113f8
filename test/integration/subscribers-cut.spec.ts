import { Redis } from 'ioredis';
import { Lab } from '../support/history/lab.js';
import { type RemoteRequest } from '../support/history/remote-request.js';
import { startRedisServer, type RedisServer } from '../support/redis.js';
import { ScriptClient } from '../support/script-client.js';
import { pause } from '../support/waiting.js';

describe('when all subscriber connections are cut at once', () => {
  let server: RedisServer;
  let lab: Lab;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  beforeEach(() => (lab = new Lab(server.url)));
  afterEach(() => lab.close());
  afterAll(() => server.stop());

  test.each([
    { name: 'at the same time', order: 'together' },
    { name: 'right after the cut', order: 'cut first' },
    { name: 'while the connections come back', order: 'later' },
  ])('nobody of ten waiters loses its place to a release $name', async ({ order }) => {
    const [holder, ...others] = await lab.workersAlike(3, { clients: 3 });
    if (!holder) throw new Error('no worker');
    for (let round = 0; round < 3; round += 1) {
      const first = holder.ask('k');
      await first.granted();
      const waiters: RemoteRequest[] = [];
      for (let i = 0; i < 10; i += 1) {
        const worker = [holder, ...others][i % 3] ?? holder;
        const waiter = worker.ask('k', { client: i % 2 === 0 ? 0 : i % 3 });
        await waiter.queued();
        waiters.push(waiter);
      }
      const cut = server.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
      if (order !== 'together') await cut;
      if (order === 'later') await pause(10 * round);
      const released = first.release();
      const newcomer = holder.ask('k', { client: 2 });
      let before = 0;
      for (const waiter of [...waiters, newcomer]) {
        const { token } = await waiter.granted();
        expect(token).toBeGreaterThan(before);
        before = token ?? NaN;
        await waiter.release();
      }
      await Promise.all([cut, released]);
    }
    await lab.closeWorkers();
    // The reconnect grace is added to the usual bound.
    expect(lab.verify({ wakeUp: () => 500 })).toMatchObject({ grants: 36, excused: 0, lost: 0, errors: 0 });
  });

  test('a client that says itself that it hears nothing does not overtake one that cannot be heard just now', async () => {
    const redis = new Redis(server.url);
    try {
      const times = { window: 2_000, lease: 3_000, grace: 250 };
      const client = (): ScriptClient => new ScriptClient(redis, lab.prefix, times);
      const [holder, first, second] = [client(), client(), client()];
      // It heard this server for long, and nobody listens to its channel any more.
      first.hears = `${/run_id:(\w+)/.exec(await redis.info('server'))?.[1]} 10000`;
      const grant = await holder.acquire();
      const { sequence } = await first.acquire();
      await second.acquire();
      await holder.release(grant.first, grant.sequence);
      expect((await second.heartbeat()).run).toBe('');
      // Back within the grace.
      expect((await first.heartbeat()).run).toBe(String(sequence));
    } finally {
      redis.disconnect();
    }
  });
});

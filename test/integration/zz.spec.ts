import { Lab } from '../support/history/lab.js';
import { type RemoteRequest } from '../support/history/remote-request.js';
import { startRedisServer, type RedisServer } from '../support/redis.js';
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
    ...Array.from({length: 8}, () => ({ name: 'at the same time', order: 'together' })),
    
    
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
        const { token } = await waiter.granted().catch(async (e) => { const { describe: d } = await import('../support/history/events.js'); const evs = [...lab.history.events].sort((a,b)=>a.at-b.at).filter(e => !['assertHeld','op'].includes(e.type)).map(d).slice(-60); const fs = await import('node:fs'); fs.writeSync(1, evs.join('\n') + '\n' + await server.cli('HGETALL', `${lab.prefix}:{k}`) + '\n' + await server.cli('ZRANGE', `${lab.prefix}:{k}:queue`, '0','-1', 'WITHSCORES')+ '\n' + await server.cli('ZRANGE', `${lab.prefix}:{k}:clients`, '0','-1', 'WITHSCORES')+'\n'); throw e; });
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
});

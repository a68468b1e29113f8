import { describe as describeEvent } from '../support/history/events.js';
import { Lab } from '../support/history/lab.js';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { deferred, within, SOON } from '../support/waiting.js';

describe('nested locking on Redis', () => {
  const prefix = uniquePrefix();
  const clients = new InProcessClients(prefix, {
    lease: 30_000,
    livenessWindow: 10_000,
    commandTimeout: 1_000,
  });
  let proxy: TcpProxy;
  let here: InProcessClient;
  let elsewhere: InProcessClient;
  beforeAll(async () => {
    proxy = await TcpProxy.start(redisUrl());
    here = await clients.start(proxy.url);
    elsewhere = await clients.start(redisUrl());
  });
  afterAll(async () => {
    await clients.close();
    await proxy.close();
  });

  /** What is sent to Redis while `work` runs. The leases are long, so that no renewal falls into it. */
  const commandsDuring = async (work: () => Promise<void>): Promise<string[]> => {
    const sent: string[] = [];
    const stop = proxy.listenTo(({ name }) => sent.push(name));
    await work();
    stop();
    return sent;
  };

  test('on the same key costs no Redis command, however deep and in however many branches', async () => {
    const { service } = here;
    await service.withLock('a', async (outer) => {
      const sent = await commandsDuring(async () => {
        await service.withLock('a', async (inner) => {
          expect(inner.token).toBe(outer.token);
          await service.withLock('a', () => expect(outer.holdCount).toBe(3));
        });
        await Promise.all([1, 2, 3].map(() => service.withLock('a', () => Promise.resolve())));
        await (await service.acquire('a')).release();
        expect(await service.tryAcquire('a').then((lock) => lock?.release())).toBeUndefined();
        expect(service.current('a')).toBe(outer);
      });
      expect(sent).toEqual([]);
    });
    // The counting itself works: an outermost section is one command to take the lock and one to give it back.
    const sent = await commandsDuring(() => service.withLock('b', () => Promise.resolve()));
    expect(sent).toEqual(['evalsha', 'evalsha']);
  });

  test('branches of a Promise.all inside a hold exclude each other', async () => {
    let inside = 0;
    let most = 0;
    await here.service.withLock('a', async () => {
      const branch = (): Promise<void> =>
        here.service.withLock('a', async () => {
          most = Math.max(most, (inside += 1));
          await new Promise(setImmediate);
          inside -= 1;
        });
      await Promise.all([branch(), branch(), branch()]);
    });
    expect(most).toBe(1);
  });

  test('a child section that is not awaited keeps the lock until it ends', async () => {
    const mayEnd = deferred();
    const childEnded = deferred();
    await here.service.withLock('a', () => {
      void here.service.withLock('a', () => mayEnd.promise).then(() => childEnded.resolve());
    });
    expect(await elsewhere.service.tryAcquire('a')).toBeUndefined();
    const queued = deferred<number>();
    const next = elsewhere.service.acquire('a', { onQueued: queued.resolve });
    await within(queued.promise, SOON, 'the place in line');
    mayEnd.resolve();
    await childEnded.promise;
    await (await within(next, SOON, 'the lock')).release();
  });

  test('in all its forms concurrently, in three processes, breaks no promise', async () => {
    const lab = new Lab(redisUrl());
    try {
      await lab.watchStalls();
      const workers = await lab.workersAlike(3);
      const load = {
        requests: 150,
        concurrency: 8,
        keyPrefix: 'lock',
        locks: 2,
        longestHold: 2,
        waitTime: 60_000,
        timeoutShare: 0,
        abortShare: 0,
        nestedShare: 0.7,
      };
      await Promise.all(workers.map((worker, i) => worker.load({ ...load, seed: 200 + i }, 60_000)));
      await lab.closeWorkers();
      const report = lab.verify();
      expect(lab.history.events.filter(({ type }) => type === 'error').map(describeEvent)).toEqual([]);
      expect(report).toMatchObject({ lost: 0, excused: 0 });
      expect(report.nested).toBeGreaterThan(300);
    } finally {
      await lab.close();
    }
  });
});

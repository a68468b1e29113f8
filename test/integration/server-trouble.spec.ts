import { Redis } from 'ioredis';
import { LockStoreUnavailableError } from '../../lib/core/errors/errors.js';
import type { FairLock } from '../../lib/core/holds/fair-lock.js';
import { Lab, USUAL_TIMES } from '../support/history/lab.js';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { freePort, startRedisServer, uniquePrefix, type RedisServer } from '../support/redis.js';
import { Stopwatch } from '../support/stopwatch.js';
import { deferred, eventually, pause, within, SOON } from '../support/waiting.js';

const { commandTimeout, lease } = USUAL_TIMES;
/** ε of two busy cores. */
const SLACK = 250;

describe('a server in trouble', () => {
  let clients: InProcessClients;
  beforeEach(() => (clients = new InProcessClients(uniquePrefix())));
  afterEach(() => clients.close());

  const refusal = async (promise: Promise<unknown>): Promise<LockStoreUnavailableError> => {
    const outcome: unknown = await promise.catch((error: unknown) => error);
    expect(outcome).toBeInstanceOf(LockStoreUnavailableError);
    return outcome as LockStoreUnavailableError;
  };

  test('that is not there at boot: requests fail with a typed error within the command deadline, and work once it is there', async () => {
    const port = await freePort();
    const started = new Stopwatch();
    const client = await clients.start(`redis://127.0.0.1:${port}`);
    expect(started.stop()).toBeLessThan(commandTimeout + SLACK);
    expect(client.warnings).toHaveLength(1);
    expect(client.warnings[0]).toMatch(/did not respond/);

    const asked = new Stopwatch();
    const attempts = [
      client.service.acquire('a'),
      client.service.tryAcquire('a'),
      client.service.inspect('a'),
    ];
    for (const error of await Promise.all(attempts.map(refusal))) {
      expect(error.failure).toBe('unreachable');
      expect(error.details).toMatch(/no connection to Redis \(.*ECONNREFUSED/);
    }
    expect(asked.stop()).toBeLessThan(commandTimeout + SLACK);

    const server = await startRedisServer({ port });
    try {
      // The longest pause between two attempts to connect is 1.2 s.
      const lock = await within(
        retry(() => client.service.acquire('a')),
        1_200 + SOON,
        'the lock',
      );
      await lock.release();
      await client.close();
    } finally {
      await server.stop();
    }
  });

  test('whose address is invalid, or whose client has given up: requests fail immediately, and say so', async () => {
    const { service } = await clients.start({ host: '127.0.0.1', port: 70_000 });
    const { details } = await refusal(service.acquire('a'));
    expect(details).toMatch(/has ended and does not reconnect \(.*70000/);

    const server = await startRedisServer();
    const given = await clients.start(() => new Redis(server.url, { retryStrategy: () => null }));
    await (await given.service.acquire('a')).release();
    await server.stop();
    const ended = async (): Promise<boolean> =>
      (await refusal(given.service.acquire('a'))).details.includes('does not reconnect');
    await eventually(ended, SOON, 'the client to give up');
  });

  test('that is not there: closing takes no longer than the command deadline, twice', async () => {
    const client = await clients.start(`redis://127.0.0.1:${await freePort()}`);
    void client.service.acquire('a').catch(() => undefined);
    const closing = new Stopwatch();
    await client.close();
    expect(closing.stop()).toBeLessThan(2 * commandTimeout + SLACK);
  });

  test('that is unreachable while clients of the application queue commands: closing ends what was asked', async () => {
    const server = await startRedisServer();
    const made: Redis[] = [];
    const client = await clients.start(() => {
      const user = new Redis(server.url, { retryStrategy: () => 100, disconnectTimeout: 100 });
      made.push(user.on('error', () => undefined));
      return user;
    });
    await server.stop();
    await eventually(
      () => made.every(({ status }) => status !== 'ready'),
      SOON,
      'the end of the connections',
    );
    const asked = refusal(client.service.inspect('a'));
    // ioredis leaves unanswered what it had queued when it is told to disconnect between two attempts.
    await client.close();
    const { failure } = await within(asked, SOON, 'an answer');
    expect(['timeout', 'unreachable']).toContain(failure);
    for (const user of made) user.disconnect();
  });

  describe('that this test controls', () => {
    let server: RedisServer;
    let admin: Redis;
    beforeAll(async () => {
      server = await startRedisServer();
      admin = new Redis(server.url);
    });
    afterAll(async () => {
      admin.disconnect();
      await server.stop();
    });

    const waitingFor = async (client: InProcessClient, key: string): Promise<Promise<FairLock>> => {
      const queued = deferred<number>();
      const granted = client.service.acquire(key, { onQueued: queued.resolve });
      await within(Promise.race([queued.promise, granted]), SOON, 'the place in line');
      // In a list, or awaiting would wait for the lock.
      return [granted] as never;
    };

    test('out of memory refuses new requests with a typed error; renewal, leaving and handing over work', async () => {
      const [holder, waiter, other] = [
        await clients.start(server.url),
        await clients.start(server.url),
        await clients.start(server.url),
      ];
      const lock = await holder.service.acquire('a');
      const free = await holder.service.acquire('b');
      const [next] = (await waitingFor(waiter, 'a')) as unknown as [Promise<FairLock>];
      const leaving = new AbortController();
      const queued = deferred<number>();
      const left = other.service
        .acquire('a', { signal: leaving.signal, onQueued: queued.resolve })
        .catch((error: unknown) => error);
      await queued.promise;

      await admin.config('SET', 'maxmemory', '1');
      try {
        for (const attempt of [
          other.service.acquire('a'),
          other.service.acquire('c'),
          other.service.tryAcquire('c'),
        ]) {
          expect(await refusal(attempt)).toMatchObject({ failure: 'out-of-memory' });
        }
        // A whole lease: without renewal it would be lost, without heartbeats the waiter would be out of the line.
        await pause(lease + 200);
        lock.assertHeld();
        leaving.abort();
        expect(await left).toMatchObject({ code: 'ABORTED' });
        await eventually(
          async () => (await other.service.inspect('a')).queueLength === 1,
          SOON,
          'the leaving',
        );
        const released = new Stopwatch();
        await lock.release();
        const granted = await within(next, SOON, 'the lock');
        expect(released.stop()).toBeLessThan(SLACK);
        await granted.release();
        await free.release();
        expect(await other.service.isLocked('a')).toBe(false);
        expect(await other.service.isLocked('b')).toBe(false);
      } finally {
        await admin.config('SET', 'maxmemory', '0');
      }
      await (await other.service.acquire('a')).release();
    });

    test('whose scripts are flushed all the time is not noticed', async () => {
      const lab = new Lab(server.url);
      let flushing = true;
      const flush = (async () => {
        while (flushing) {
          await admin.script('FLUSH');
          await pause(1);
        }
      })();
      try {
        await lab.watchStalls();
        const workers = await lab.workersAlike(2);
        const load = {
          requests: 150,
          concurrency: 10,
          keyPrefix: 'lock',
          locks: 2,
          longestHold: 2,
          waitTime: 60_000,
          timeoutShare: 0,
          abortShare: 0,
          nestedShare: 0,
        };
        await Promise.all(workers.map((worker, i) => worker.load({ ...load, seed: 400 + i }, 60_000)));
        await lab.closeWorkers();
        expect(lab.verify()).toMatchObject({ grants: 300, errors: 0, lost: 0, excused: 0 });
      } finally {
        flushing = false;
        await flush;
        await lab.close();
      }
    });

    test('and an existing client of it is neither quit nor reconfigured', async () => {
      const user = new Redis(server.url, { connectionName: 'user', maxRetriesPerRequest: 7 });
      await user.ping();
      const [id, options] = [await user.client('ID'), { ...user.options }];
      const client = await clients.start(user);
      await (await client.service.acquire('a')).release();
      await client.close();
      expect(await user.ping()).toBe('PONG');
      expect(await user.client('ID')).toBe(id);
      expect(user.options).toEqual(options);
      expect(user.status).toBe('ready');
      user.disconnect();
    });
  });
});

/** Asks until it is served: there is no event for a connection that has come back. */
async function retry(ask: () => Promise<FairLock>): Promise<FairLock> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof LockStoreUnavailableError)) throw error;
    }
  }
}

import { Redis } from 'ioredis';
import { LockStoreUnavailableError } from '../../lib/core/errors/errors.js';
import type { FairLock } from '../../lib/core/holds/fair-lock.js';
import { USUAL_TIMES } from '../support/history/lab.js';
import { InProcessClients } from '../support/in-process-client.js';
import { OwnServer } from '../support/own-server.js';
import { freePort, startRedisServer, uniquePrefix } from '../support/redis.js';
import { inLine, refusal, waiting } from '../support/requests.js';
import { Stopwatch } from '../support/stopwatch.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { eventually, pause, within, SOON } from '../support/waiting.js';

const { commandTimeout, lease } = USUAL_TIMES;
/** ε of two busy cores. */
const SLACK = 250;

describe('a server in trouble', () => {
  let clients: InProcessClients;
  beforeEach(() => (clients = new InProcessClients(uniquePrefix())));
  afterEach(() => clients.close());

  const unavailable = async (promise: Promise<unknown>): Promise<LockStoreUnavailableError> => {
    const outcome = await refusal(promise);
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
    for (const error of await Promise.all(attempts.map(unavailable))) {
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
    const { details } = await unavailable(service.acquire('a'));
    expect(details).toMatch(/has ended and does not reconnect \(.*70000/);

    const server = await startRedisServer();
    const given = await clients.start(() => new Redis(server.url, { retryStrategy: () => null }));
    await (await given.service.acquire('a')).release();
    await server.stop();
    const ended = async (): Promise<boolean> =>
      (await unavailable(given.service.acquire('a'))).details.includes('does not reconnect');
    await eventually(ended, SOON, 'the client to give up');
  });

  test('that is not there: closing takes no longer than the command deadline, twice', async () => {
    const client = await clients.start(`redis://127.0.0.1:${await freePort()}`);
    void client.service.acquire('a').catch(() => undefined);
    const closing = new Stopwatch();
    await client.close();
    expect(closing.stop()).toBeLessThan(2 * commandTimeout + SLACK);
  });

  test('that cannot be reached: whose caller gives up has left the queue, without an answer', async () => {
    const server = await startRedisServer();
    const proxy = await TcpProxy.start(server.url);
    try {
      const [holder, cutOff] = [await clients.start(server.url), await clients.start(proxy.url)];
      await using _held = await holder.service.acquire('a');
      const gone = new AbortController();
      const { granted } = await inLine(cutOff, 'a', { signal: gone.signal });
      const heal = proxy.blackHole();
      gone.abort();
      // In the same turn of the event loop, which no answer can reach.
      const left = granted.catch(({ code }: { code: unknown }) => code);
      expect(await Promise.race([left, new Promise(setImmediate)])).toBe('ABORTED');
      heal();
    } finally {
      await clients.close();
      await proxy.close();
      await server.stop();
    }
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
    const asked = unavailable(client.service.inspect('a'));
    // ioredis leaves unanswered what it had queued when it is told to disconnect between two attempts.
    await client.close();
    const { failure } = await within(asked, SOON, 'an answer');
    expect(['timeout', 'unreachable']).toContain(failure);
    for (const user of made) user.disconnect();
  });

  describe('that this test controls', () => {
    const own = new OwnServer();

    test('out of memory refuses new requests with a typed error; renewal, leaving and handing over work', async () => {
      const [holder, waiter, other] = [
        await clients.start(own.url),
        await clients.start(own.url),
        await clients.start(own.url),
      ];
      const lock = await holder.service.acquire('a');
      const free = await holder.service.acquire('b');
      const next = await inLine(waiter, 'a');
      const leaving = new AbortController();
      const left = await inLine(other, 'a', { signal: leaving.signal });

      await own.admin.config('SET', 'maxmemory', '1');
      try {
        for (const attempt of [
          other.service.acquire('a'),
          other.service.acquire('c'),
          other.service.tryAcquire('c'),
        ]) {
          expect(await unavailable(attempt)).toMatchObject({ failure: 'out-of-memory' });
        }
        // A whole lease: without renewal it would be lost, without heartbeats the waiter would be out of the line.
        await pause(lease + 200);
        lock.assertHeld();
        leaving.abort();
        expect(await refusal(left.granted)).toMatchObject({ code: 'ABORTED' });
        await waiting(other.service, 'a', 1);
        const released = new Stopwatch();
        await lock.release();
        const granted = await within(next.granted, SOON, 'the lock');
        expect(released.stop()).toBeLessThan(SLACK);
        await granted.release();
        await free.release();
        expect(await other.service.isLocked('a')).toBe(false);
        expect(await other.service.isLocked('b')).toBe(false);
      } finally {
        await own.admin.config('SET', 'maxmemory', '0');
      }
      await (await other.service.acquire('a')).release();
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

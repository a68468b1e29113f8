/** What the log says when Redis stops serving. */
import { createFairLock, type StandaloneFairLock } from 'nestjs-fair-lock/standalone';
import { FairLockError } from 'nestjs-fair-lock';
import { startRedisServer, type RedisServer } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { eventually, pause, SOON } from '../support/waiting.js';

/** Longer than a busy machine stands still, of which the log would speak, too. */
const COMMAND_TIMEOUT = 1_000;

describe.each(['redis', 'redisson'] as const)('The log of a process with the store %s', (store) => {
  let server: RedisServer;
  let locks: StandaloneFairLock;
  let log: string[];

  beforeEach(async () => {
    server = await startRedisServer();
    log = [];
    const options = { redis: server.url, store, commandTimeout: COMMAND_TIMEOUT, waitTime: 30_000 };
    locks = await createFairLock(options, (message) => log.push(message));
  });
  afterEach(async () => {
    await locks.close();
    await server.stop();
  });

  const lines = (count: number): Promise<void> =>
    eventually(() => log.length >= count, SOON, `line ${count} of the log`);
  const LOST = new RegExp(
    '^Redis stopped serving locks: there is no connection to Redis \\(connect ECONNREFUSED 127\\.0\\.0\\.1:\\d+\\)\\. New calls fail with ' +
      'STORE_UNAVAILABLE, .* See nestjs-fair-lock/docs/troubleshooting\\.md#redis-was-unavailable\\.$',
  );
  const BACK =
    /^Redis serves locks again, after [\d.]+ m?s\. See nestjs-fair-lock\/docs\/troubleshooting\.md#redis-was-unavailable\.$/;

  test('says once that Redis was lost and why, however many calls fail, and once that it is back', async () => {
    await server.kill();
    const failed = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => locks.acquire(`k${i}`)));
    expect(failed.every(({ status }) => status === 'rejected')).toBe(true);
    await server.restart();
    await lines(2);
    expect(log).toEqual([expect.stringMatching(LOST), expect.stringMatching(BACK)]);
  });

  test('says so in a process that asks for no lock meanwhile', async () => {
    await server.kill();
    await lines(1);
    await server.restart();
    await lines(2);
    expect(log).toEqual([expect.stringMatching(LOST), expect.stringMatching(BACK)]);
  });

  test('says so of a server that does not respond, of which the errors say that it accepts connections', async () => {
    await server.kill('SIGSTOP');
    await expect(locks.acquire('k')).rejects.toMatchObject({ failure: 'timeout' });
    await expect(locks.acquire('k')).rejects.toMatchObject({
      failure: 'timeout',
      details: expect.stringMatching(
        /^Redis could not serve the lock: it accepts connections but does not respond; it may be stopped, overloaded, or loading its data\./,
      ) as string,
    });
    await server.kill('SIGCONT');
    await lines(2);
    expect(log).toEqual([
      expect.stringMatching(
        /^Redis stopped serving locks: Redis did not respond within 1000 ms \(commandTimeout\)\./,
      ),
      expect.stringMatching(BACK),
    ]);
  });

  test('says so once of a server without memory, which serves releases', async () => {
    const lock = await locks.acquire('held');
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    await expect(locks.acquire('k')).rejects.toMatchObject({ failure: 'out-of-memory' });
    await lock.release();
    await expect(locks.acquire('k')).rejects.toMatchObject({ failure: 'out-of-memory' });
    expect(log).toEqual([expect.stringMatching(/^Redis stopped serving locks: Redis is out of memory/)]);
    await server.command('CONFIG', 'SET', 'maxmemory', '0');
    await eventually(
      async () => {
        await locks.withLock('k', () => Promise.resolve());
        return log.length === 2;
      },
      SOON,
      'the line that it serves again',
    );
    expect(log[1]).toMatch(BACK);
  });

  test('says once that it serves again, when a lock can be taken: not of a replica that answers what only reads', async () => {
    const primary = await startRedisServer();
    await server.command('REPLICAOF', '127.0.0.1', new URL(primary.url).port);
    const refused = async (): Promise<void> => {
      await expect(locks.acquire('k')).rejects.toMatchObject({ failure: 'read-only' });
      await locks.inspect('k');
    };
    await refused();
    // A reply ends an outage when nothing has failed for half a second.
    await pause(600);
    await refused();
    await pause(600);
    expect(log).toEqual([
      expect.stringMatching(/^Redis stopped serving locks: Redis is a read-only replica\. /),
    ]);
    await server.command('REPLICAOF', 'NO', 'ONE');
    await locks.inspect('k');
    await lines(2);
    expect(log[1]).toMatch(BACK);
    await primary.stop();
  });

  test('has no line of a connection that is replaced, and of a close', async () => {
    await server.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await locks.withLock('k', () => Promise.resolve());
    await locks.close();
    await server.kill();
    await pause(COMMAND_TIMEOUT); // the subject is that nothing is said
    expect(log).toEqual([]);
  });
});

test('A process that starts without Redis says that at the start, and when Redis is there', async () => {
  const server = await startRedisServer();
  const log: string[] = [];
  await server.kill();
  const locks = await createFairLock({ redis: server.url }, (message) => log.push(message));
  await server.restart();
  await eventually(() => log.length === 2, SOON, 'the second line');
  expect(log).toEqual([
    expect.stringMatching(/^Redis did not respond within 1000 ms/),
    expect.stringMatching(/^Redis serves locks now, after/),
  ]);
  await locks.close();
  await server.stop();
});

test('A process whose round trip takes longer than commandTimeout learns which option to raise, and never that Redis serves locks', async () => {
  const server = await startRedisServer();
  const proxy = await TcpProxy.start(server.url);
  proxy.disturb({ delay: 200 });
  const log: string[] = [];
  const options = { redis: proxy.url, commandTimeout: 300 };
  const locks = await createFairLock(options, (message) => log.push(message));
  await eventually(
    async () => {
      const error: unknown = await locks.acquire('k').catch((reason: unknown) => reason);
      const details = error instanceof FairLockError ? error.details : '';
      return /until its first response: if that is usual, raise commandTimeout/.test(details);
    },
    SOON,
    'an error that names the option',
  );
  expect(log[0]).toMatch(
    /^Redis did not respond within 300 ms \(.*round trip is too long for commandTimeout\)/,
  );
  expect(log.filter((line) => line.includes('serves locks'))).toEqual([]);
  await locks.close();
  await proxy.close();
  await server.stop();
});

/** What the log says when Redis stops serving. */
import { createFairLock, type StandaloneFairLock } from 'nestjs-fair-lock/standalone';
import { startRedisServer, type RedisServer } from '../support/redis.js';
import { eventually, pause, SOON } from '../support/waiting.js';

const COMMAND_TIMEOUT = 300;

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

  test('says so of a server that does not respond', async () => {
    await server.kill('SIGSTOP');
    await expect(locks.acquire('k')).rejects.toMatchObject({ failure: 'timeout' });
    await server.kill('SIGCONT');
    await lines(2);
    expect(log).toEqual([
      expect.stringMatching(
        /^Redis stopped serving locks: Redis did not respond within 300 ms \(commandTimeout\)\./,
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
    expect.stringMatching(/^Redis serves locks again, after/),
  ]);
  await locks.close();
  await server.stop();
});

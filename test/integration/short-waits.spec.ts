/** A wait that ends because Redis does not answer is not that of a busy lock: code that skips when the lock is busy would skip an outage. */
import { createFairLock, type StandaloneFairLock } from 'nestjs-fair-lock/standalone';
import { startRedisServer, type RedisServer } from '../support/redis.js';
import { Stopwatch } from '../support/stopwatch.js';
import { deferred, eventually, SOON } from '../support/waiting.js';

const COMMAND_TIMEOUT = 2_000;
/** A machine that is busy with other suites stands still for up to a second; and for 250 ms Redis has time to tell what blocks a lock. */
const SLACK = 1_000 + 250;

describe.each(['redis', 'redisson'] as const)(
  'A wait that is shorter than commandTimeout, with the store %s',
  (store) => {
    let server: RedisServer;
    let locks: StandaloneFairLock;
    beforeEach(async () => {
      server = await startRedisServer();
      const options = { redis: server.url, store, commandTimeout: COMMAND_TIMEOUT };
      locks = await createFairLock(options, () => undefined);
    });
    afterEach(async () => {
      await locks.close();
      await server.stop();
    });

    const codeOf = async (key: string, waitTime: number): Promise<{ code: string; within: boolean }> => {
      const watch = new Stopwatch();
      const { code } = (await locks.acquire(key, { waitTime }).catch((error: unknown) => error)) as {
        code: string;
      };
      return { code, within: watch.stop() < Math.min(waitTime, COMMAND_TIMEOUT) + SLACK };
    };
    const allOf = (key: string, ...waitTimes: number[]): Promise<unknown[]> =>
      Promise.all(waitTimes.map((waitTime) => codeOf(key, waitTime)));
    const away = { code: 'STORE_UNAVAILABLE', within: true };

    test.each(['SIGKILL', 'SIGSTOP'] as const)(
      'fails with STORE_UNAVAILABLE where Redis got a %s',
      async (signal) => {
        await locks.withLock('k', () => undefined);
        await server.kill(signal);
        expect(await allOf('k', 1, 100, 300, 5_000)).toEqual([away, away, away, away]);
        expect(await allOf('k', 1, 100, 300, 5_000)).toEqual([away, away, away, away]);
        if (signal === 'SIGSTOP') await server.kill('SIGCONT');
      },
    );

    test('fails with WAIT_TIMEOUT where the lock is busy, however short it is', async () => {
      const lock = await locks.acquire('k');
      const busy = { code: 'WAIT_TIMEOUT', within: true };
      expect(await allOf('k', 1, 2, 50)).toEqual([busy, busy, busy]);
      await lock.release();
    });

    test('fails with STORE_UNAVAILABLE in the queue as well if Redis is away when it ends', async () => {
      const lock = await locks.acquire('k');
      const queued = deferred<number>();
      const waits = locks.acquire('k', { waitTime: 1_500, onQueued: queued.resolve });
      const refused = expect(waits).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      await queued.promise;
      await server.kill();
      await refused;
      await server.restart();
      await eventually(async () => (await locks.health()).reachable, SOON, 'the server');
      await lock.release();
    });
  },
);

import { USUAL_TIMES } from '../support/history/lab.js';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { deferred, pause } from '../support/waiting.js';

/** How often a client sends a heartbeat for a lock. */
const HEARTBEAT = Math.min(USUAL_TIMES.lease, USUAL_TIMES.livenessWindow) / 3;
const PERIODS = 3;

describe('idle waiters', () => {
  const clients = new InProcessClients(uniquePrefix());
  let holder: InProcessClient;
  beforeAll(async () => {
    holder = await clients.start(redisUrl());
  });
  afterAll(() => clients.close());

  /**
   * What a client with so many waiters on one lock sends to Redis in some heartbeat periods, by either connection, and how many periods
   * that were on this machine.
   */
  const commandsOf = async (waiters: number): Promise<{ sent: string[]; periods: number }> => {
    const proxy = await TcpProxy.start(redisUrl());
    try {
      const key = `key-${waiters}`;
      const lock = await holder.service.acquire(key);
      const { service } = await clients.start(proxy.url);
      const leave = new AbortController();
      const waits = Array.from({ length: waiters }, () => {
        const queued = deferred<number>();
        const granted = service.acquire(key, { onQueued: queued.resolve, signal: leave.signal });
        return { queued: queued.promise, granted: granted.catch((error: unknown) => error) };
      });
      // One that is granted or refused at once, since this machine stood still for longer than a lease, is not in line.
      const joined = waits.map(({ queued, granted }) =>
        Promise.race([queued.then(() => 'queued'), granted.then(() => 'settled')]),
      );
      expect(new Set(await Promise.all(joined))).toEqual(new Set(['queued']));
      await pause(50); // whatever still follows the joining
      const sent: string[] = [];
      const start = performance.now();
      const stop = proxy.listenTo(({ name }) => sent.push(name));
      await pause(PERIODS * HEARTBEAT);
      stop();
      const periods = Math.floor((performance.now() - start) / HEARTBEAT);
      leave.abort();
      await Promise.all(waits.map(({ granted }) => granted));
      await lock.release();
      return { sent, periods };
    } finally {
      await proxy.close();
    }
  };

  test('cost at most one command a heartbeat period, 200 of them as many as one', async () => {
    const [one, many] = await Promise.all([commandsOf(1), commandsOf(200)]);
    // So many periods hold one beginning more, at most.
    for (const { sent, periods } of [one, many]) {
      const beats = sent.filter((name) => name === 'evalsha');
      expect(beats.length).toBeLessThanOrEqual(periods + 1);
      expect(beats.length).toBeGreaterThan(0);
      // The text of the script follows the first heartbeat of a connection.
      expect(sent.filter((name) => name === 'eval').length).toBeLessThanOrEqual(1);
      expect(new Set([...sent, 'eval', 'evalsha']).size).toBe(2);
    }
  });
});

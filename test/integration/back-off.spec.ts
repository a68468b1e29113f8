import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { InProcessClients } from '../support/in-process-client.js';
import { startRedisServer, uniquePrefix } from '../support/redis.js';
import { pause } from '../support/waiting.js';

const LOCKS = 50;
const LEASE = 30_000;
const OUTAGE = 1_500;

test('while Redis is unreachable, held locks try their heartbeats no more often than usual', async () => {
  const server = await startRedisServer();
  const times = { lease: LEASE, livenessWindow: LEASE, commandTimeout: 1_000 };
  const clients = new InProcessClients(uniquePrefix(), times);
  const spies: { mock: { calls: unknown[] } }[] = [];
  const client = await clients.start(() => {
    // ioredis keeps a timer for as long as `disconnectTimeout` (2 s) after a disconnect, which would outlast the test.
    const more = { enableOfflineQueue: false, lazyConnect: true, disconnectTimeout: 100 };
    const redis = new Redis(server.url, more);
    spies.push(jest.spyOn(redis, 'evalsha'), jest.spyOn(redis, 'eval'));
    return redis;
  });
  const sent = (): number => spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  try {
    for (let i = 0; i < LOCKS; i += 1) await client.service.acquire(`lock-${i}`);
    const before = sent();
    await server.kill();
    await pause(OUTAGE);
    // One for each lock when the subscriber's connection broke, and one when that of the commands did.
    expect(sent() - before).toBeLessThanOrEqual(2 * LOCKS);
  } finally {
    await clients.close();
  }
});

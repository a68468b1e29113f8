import { jest } from '@jest/globals';
import { getEventListeners, once } from 'node:events';
import type { Redis } from 'ioredis';
import { openConnection } from '../../lib/stores/redis-client/connection/redis-source.js';
import { networkTrouble } from '../../lib/stores/redis-client/server/server-failure.js';
import { startRedisServer, type RedisServer } from '../support/redis.js';

const HOST = '127.0.0.1';
const NAME = 'lock-primary';
/** A sentinel that does not answer is not waited for: 200 ms after the first answer; the rest is a busy machine. */
const FOUND = 5_000;

interface Sentinel {
  readonly host: string;
  readonly port: number;
}

describe('two sentinels that name two primaries, the second after a later failover', () => {
  let former: RedisServer;
  let present: RedisServer;
  let servers: RedisServer[] = [];
  let stale: Sentinel;
  let informed: Sentinel;
  let client: Redis | undefined;

  beforeAll(async () => {
    [former, present] = await Promise.all([startRedisServer(), startRedisServer()]);
    const sentinels = await Promise.all([startSentinel(former.port, 3), startSentinel(present.port, 7)]);
    servers = [...sentinels, former, present];
    [stale, informed] = sentinels.map(({ port }) => ({ host: HOST, port })) as [Sentinel, Sentinel];
  });
  afterAll(() => Promise.all(servers.map((server) => server.stop())));
  afterEach(() => client?.disconnect());

  test('the client connects to the primary of the later failover, whichever sentinel is named first', async () => {
    expect(await portBy([stale, informed])).toBe(present.port);
    client?.disconnect();
    expect(await portBy([informed, stale])).toBe(present.port);
  });

  test(
    'where one of them is frozen, the answer of the other counts',
    async () => {
      const [, frozen] = servers;
      await frozen!.kill('SIGSTOP');
      try {
        expect(await portBy([informed, stale])).toBe(former.port);
      } finally {
        await frozen!.kill('SIGCONT');
      }
    },
    FOUND,
  );

  test('the natMap of the user translates the address that a sentinel names', async () => {
    const natMap = { [`${HOST}:${present.port}`]: { host: HOST, port: former.port } };
    expect(await portBy([informed], { natMap })).toBe(former.port);
  });

  test.each([
    [
      'knows the name',
      () => ({ name: 'unknown', sentinels: [stale] }),
      /primary "unknown": none of them knows it/,
    ],
    ['can be reached', () => ({ name: NAME, sentinels: [{ host: HOST, port: 1 }] }), /ECONNREFUSED/],
  ])(
    'where none of them %s, the error of the client may be repeated, and says so',
    async (_, source, reason) => {
      const { client: lost } = openConnection(source(), 'commands');
      client = lost as Redis;
      void lost.connect().catch(() => undefined);
      const [error] = (await once(lost, 'error')) as [unknown];
      expect(networkTrouble(error)).toMatch(reason);
    },
  );

  test('a search of any length keeps nothing of its attempts', async () => {
    const { client: lost } = openConnection({ name: NAME, sentinels: [{ host: HOST, port: 1 }] }, 'commands');
    client = lost as Redis;
    const add = jest.spyOn(AbortSignal.prototype, 'addEventListener');
    void lost.connect().catch(() => undefined);
    for (let attempt = 1; attempt <= 3; attempt += 1) await once(lost, 'error');
    const searches = new Set(add.mock.contexts as AbortSignal[]);
    add.mockRestore();
    expect(searches.size).toBe(1);
    // The pause before the next attempt has one.
    for (const signal of searches) expect(getEventListeners(signal, 'abort').length).toBeLessThanOrEqual(1);
  });

  test('a client that is closed while no sentinel answers ends at once', async () => {
    const { client: lost } = openConnection({ name: 'unknown', sentinels: [stale] }, 'commands');
    const connected = lost.connect();
    lost.disconnect();
    await expect(connected).rejects.toThrow('Connection is closed.');
    expect(lost.status).toBe('end');
  });

  async function portBy(sentinels: Sentinel[], more: object = {}): Promise<number> {
    client = openConnection({ name: NAME, sentinels, ...more }, 'commands').client as Redis;
    await client.connect();
    const [, port] = (await client.config('GET', 'port')) as [string, string];
    return Number(port);
  }
});

function startSentinel(port: number, epoch: number): Promise<RedisServer> {
  return startRedisServer({
    args: ['--sentinel'],
    config: { sentinel: [`monitor ${NAME} ${HOST} ${port} 1`, `config-epoch ${NAME} ${epoch}`] },
  });
}

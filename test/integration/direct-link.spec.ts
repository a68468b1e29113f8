import type { Redis } from 'ioredis';
import { once } from 'node:events';
import { openConnection } from '../../lib/stores/redis-client/redis-source.js';
import { freePort, startRedisServer, type RedisServer } from '../support/redis.js';

const HOST = '127.0.0.1';

describe("a connection of the lock's own", () => {
  let server: RedisServer;
  let client: Redis;
  const open = (port: number): Redis => {
    client = openConnection({ host: HOST, port }, 'commands').client as Redis;
    return client;
  };

  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.stop());
  afterEach(() => client.disconnect());

  it('brings an answer of a megabyte whole, and those behind it in their order', async () => {
    await open(server.port).connect();
    const long = Array.from({ length: 150_000 }, (_, i) => `${i},`).join('');
    const answers = await Promise.all([
      client.set('long', long),
      client.get('long'),
      client.echo('short'),
      client.getBuffer('long'),
      client.echo('last'),
    ]);
    expect(answers).toEqual(['OK', long, 'short', Buffer.from(long), 'last']);
  });

  it('keeps what it has brought, whatever comes later', async () => {
    await open(server.port).connect();
    await client.set('first', 'a'.repeat(100));
    const first = await client.getBuffer('first');
    for (let i = 0; i < 100; i += 1) await client.echo('b'.repeat(100));
    expect(first?.toString()).toBe('a'.repeat(100));
  });

  it('is not made for whoever gives it up in the same turn', async () => {
    const admin = open(server.port);
    await admin.connect();
    const before = await admin.call('CLIENT', 'LIST');
    const other = openConnection({ host: HOST, port: server.port }, 'commands').client as Redis;
    const ended = once(other, 'end');
    const connecting = other.connect();
    other.disconnect();
    await expect(connecting).rejects.toThrow('Connection is closed.');
    await ended;
    expect(String(await admin.call('CLIENT', 'LIST')).split('\n')).toHaveLength(
      String(before).split('\n').length,
    );
  });

  it('tells why it could not be made', async () => {
    const refused = open(await freePort());
    const failed = once(refused, 'error');
    refused.connect().catch(() => undefined);
    expect((await failed)[0]).toMatchObject({ code: 'ECONNREFUSED' });
  });
});

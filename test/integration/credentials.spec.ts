import { Redis } from 'ioredis';
import { InProcessClients } from '../support/in-process-client.js';
import { eventually, SOON } from '../support/waiting.js';
import { startRedisServer, uniquePrefix, type RedisServer } from '../support/redis.js';

describe('a server that refuses the credentials', () => {
  let server: RedisServer;
  let admin: Redis;
  let clients: InProcessClients;
  beforeAll(async () => {
    server = await startRedisServer();
    admin = new Redis(server.url);
    await admin.config('SET', 'requirepass', 'right-one');
    clients = new InProcessClients(uniquePrefix());
  });
  afterAll(async () => {
    await clients.close();
    admin.disconnect();
    await server.stop();
  });

  test.each([
    ['a wrong password', ':s3cret-wrong@'],
    ['an unknown user', 'stranger:s3cret-wrong@'],
    ['no password', ''],
  ])('for %s: start and requests say so, without the password', async (_, credentials) => {
    const client = await clients.start(server.url.replace('redis://', `redis://${credentials}`));
    expect(client.warnings.join()).toMatch(/rejects the credentials/);
    const refused = await client.service.acquire('a').catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      failure: 'wrong-credentials',
      details: expect.stringMatching(/rejects the credentials.*check user name and password/) as unknown,
    });
    expect(JSON.stringify([refused, client.warnings]) + String(refused)).not.toContain('s3cret');
  });

  test('a function is asked for new ones when they were rotated: requests are served, and locks stay held', async () => {
    let password = 'first-token';
    const allow = (...rule: string[]): Promise<unknown> =>
      admin.call('ACL', 'SETUSER', 'rotating', 'on', '~*', '&*', '+@all', ...rule);
    await allow(`>${password}`);
    const { port } = server;
    let asked = 0;
    const client = await clients.start(() => {
      asked += 1;
      return new Redis({ port, username: 'rotating', password, retryStrategy: () => 50 });
    });
    const lock = await client.service.acquire('held');
    password = 'second-token';
    await allow('<first-token', `>${password}`);
    await admin.client('KILL', 'USER', 'rotating');
    const { service } = client;
    const served = (): Promise<boolean> =>
      service.health().then((health) => health.reachable && health.listening);
    await eventually(served, SOON, 'the new credentials');
    await (await service.acquire('new')).release();
    lock.assertHeld();
    await lock.release();
    // Once at the start and once more, for each of two connections.
    expect(asked).toBe(4);
  });

  test('until they are right: then requests are served', async () => {
    const client = await clients.start(server.url.replace('redis://', 'redis://:late-one@'));
    const early = client.service.acquire('b');
    await admin.config('SET', 'requirepass', 'late-one');
    await (await early).release();
  });
});

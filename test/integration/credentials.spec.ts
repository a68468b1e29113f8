import { Redis } from 'ioredis';
import { InProcessClients } from '../support/in-process-client.js';
import { eventually, SOON } from '../support/waiting.js';
import { OwnServer } from '../support/own-server.js';
import { uniquePrefix } from '../support/redis.js';

describe('a server that refuses the credentials', () => {
  const own = new OwnServer();
  const clients = new InProcessClients(uniquePrefix());
  beforeAll(() => own.admin.config('SET', 'requirepass', 'right-one'));
  afterEach(() => clients.close());

  test.each([
    ['a wrong password', ':s3cret-wrong@'],
    ['an unknown user', 'stranger:s3cret-wrong@'],
    ['no password', ''],
  ])('for %s: start and requests say so, without the password', async (_, credentials) => {
    const client = await clients.start(own.url.replace('redis://', `redis://${credentials}`));
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
      own.admin.call('ACL', 'SETUSER', 'rotating', 'on', '~*', '&*', '+@all', ...rule);
    await allow(`>${password}`);
    const { port } = own.server;
    let asked = 0;
    const client = await clients.start(() => {
      asked += 1;
      return new Redis({ port, username: 'rotating', password, retryStrategy: () => 50 });
    });
    const lock = await client.service.acquire('held');
    password = 'second-token';
    await allow('<first-token', `>${password}`);
    await own.admin.client('KILL', 'USER', 'rotating');
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
    const client = await clients.start(own.url.replace('redis://', 'redis://:late-one@'));
    await expect(client.service.acquire('b')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await own.admin.config('SET', 'requirepass', 'late-one');
    // The pause before a client connects again may be longer than a command may take.
    const served = (): Promise<boolean> => client.service.withLock('b', () => true).catch(() => false);
    await eventually(served, SOON, 'a lock');
  });
});

import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { InProcessClients } from '../support/in-process-client.js';
import { OwnServer } from '../support/own-server.js';
import { startRedisServer } from '../support/redis.js';
import { eventually, SOON, within } from '../support/waiting.js';

describe('at start an operator is told', () => {
  const own = new OwnServer();
  const clients = new InProcessClients('start-up');
  afterEach(() => clients.close());

  const renamedClient = (port: number): Redis =>
    new Redis({ host: '127.0.0.1', port, enableReadyCheck: false, lazyConnect: true });
  const warnings = async (url = own.url): Promise<string> => (await clients.start(url)).warnings.join('\n');
  const userWith = async (...rules: string[]): Promise<string> => {
    await own.admin.call('ACL', 'SETUSER', 'lock', 'reset', 'on', '>secret', 'resetchannels', ...rules);
    return own.urlOf('lock');
  };

  test('nothing, and immediately, if it is closed while it starts', async () => {
    const said: string[] = [];
    const store = new RedisLockStore({
      redis: own.url,
      keyPrefix: 'start-up',
      lease: 30_000,
      livenessWindow: 10_000,
      commandTimeout: 600_000,
      onWarning: (warning) => said.push(warning),
    });
    const starting = store.start();
    await store.close();
    await within(starting, SOON, 'the end of the start');
    expect(said).toEqual([]);
  });

  test('nothing where all is well, and nothing is left in Redis', async () => {
    expect(await warnings()).toBe('');
    expect(await own.admin.keys('*')).toEqual([]);
  });

  test('that keys of locks may be evicted, and how to prevent it', async () => {
    await own.admin.config('SET', 'maxmemory', '100mb');
    await own.admin.config('SET', 'maxmemory-policy', 'volatile-lru');
    try {
      expect(await warnings()).toMatch(/evicts keys.*volatile-lru.*Set maxmemory-policy noeviction/s);
    } finally {
      await own.admin.config('SET', 'maxmemory', '0');
      await own.admin.config('SET', 'maxmemory-policy', 'noeviction');
    }
  });

  test('that a server which does not answer accepts connections', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    try {
      expect(await warnings(`redis://127.0.0.1:${port}`)).toMatch(
        /^Redis did not respond within \d+ ms \(it accepts connections: it is loading its data, is stopped, or its round trip is too long for commandTimeout\)\./,
      );
    } finally {
      silent.close();
    }
  });

  test('that the server may not use TLS, where the client does', async () => {
    const url = own.url.replace('redis://', 'rediss://');
    const { service, warnings: reported } = await clients.start(url);
    const sentence =
      'the server does not respond to TLS; it might not use TLS: if so, use redis:// instead of rediss://';
    expect(reported.join()).toContain(`Redis did not respond within 1000 ms (${sentence}`);
    await expect(service.withLock('k', () => undefined)).rejects.toMatchObject({
      details: expect.stringContaining(sentence) as string,
    });
  });

  test('that a user may not ask for INFO, and nothing of a version that is then not known', async () => {
    const reported = await warnings(await userWith('+@all', '-info', '~start-up:*', '&start-up:*'));
    expect(reported).toMatch(/lacks permissions.*\+info/);
    expect(reported).not.toContain('too old');
  });

  test('which command the server does not know, where commands were renamed', async () => {
    const renamed = await startRedisServer({ config: { 'rename-command': 'EVALSHA ""' } });
    try {
      expect(await warnings(renamed.url)).toMatch(/lacks permissions that the lock needs: \+evalsha\./);
    } finally {
      await renamed.stop();
    }
  });

  test('that the server does not know INFO, and what helps, which does', async () => {
    const renamed = await startRedisServer({ config: { 'rename-command': 'INFO ""' } });
    try {
      let told = '';
      // A server that is given no core for a second has not refused INFO yet.
      const refused = async () => (told = await warnings(renamed.url)).includes('INFO');
      await eventually(refused, SOON, 'the refusal of INFO');
      expect(told).toMatch(/did not respond .* \(it does not know INFO, .* `enableReadyCheck: false`/);
      const { service, warnings: reported } = await clients.start(() => renamedClient(renamed.port));
      await service.withLock('k', () => undefined);
      expect(reported.join()).toMatch(/lacks permissions that the lock needs: \+info\./);
    } finally {
      await clients.close();
      await renamed.stop();
    }
  });

  test('that the server has no database of the number that is given', async () => {
    expect(await warnings(`${own.url}/15`)).toBe('');
    expect(await warnings(`${own.url}/99`)).toMatch(
      /^Redis has no database 99, so the locks are in database 0\./,
    );
  });

  test('that the server is a read-only replica', async () => {
    await own.admin.replicaof('127.0.0.1', '1');
    try {
      expect(await warnings()).toContain(`Redis at ${new URL(own.url).host} is a read-only replica`);
    } finally {
      await own.admin.replicaof('NO', 'ONE');
    }
  });

  test('that a user may not touch the keys, not use the channels, or not run a command, by the rules that are missing', async () => {
    expect(await warnings(await userWith('+@all', '~other:*', '&start-up:*'))).toContain('~start-up:*');
    expect(await warnings(await userWith('+@all', '~start-up:*', '&other:*'))).toContain('&start-up:*');
    const reported = await warnings(
      await userWith('+@all', '-zadd', '-publish', '~start-up:*', '&start-up:*'),
    );
    expect(reported).toMatch(/lacks permissions.*\+zadd, \+publish/);
    expect(reported).not.toContain('secret');
  });
});

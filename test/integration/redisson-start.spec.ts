import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { LockConfigurationError } from '../../lib/core/errors/errors.js';
import { RedissonLockStore } from '../../lib/stores/redisson/redisson-lock-store.js';
import { pause } from '../support/waiting.js';
import { LEASE, LOOK, COMMAND_TIMEOUT, ask, inLine, RedissonScene } from './redisson-scene.js';

const OPTIONS = {
  lockWatchdogTimeout: LEASE,
  fairLockWaitTimeout: 300_000,
  commandTimeout: COMMAND_TIMEOUT,
  onWarning: () => undefined,
};

describe('the redisson store at its start', () => {
  const scene = new RedissonScene();

  test('a user with no more rights than the documentation lists can do everything', async () => {
    const page = readFileSync(new URL('../../docs/redisson.md', import.meta.url), 'utf8');
    const [rule = ''] = /ACL SETUSER clerk [^`]*/.exec(page) ?? [];
    const rights = rule.split(/\s+/).filter((word) => word.startsWith('+'));
    expect(rights).toContain('+evalsha');
    await scene.redis.call(
      ...(['ACL', 'SETUSER', 'clerk', 'reset', 'on', '>secret', '~lock', '~redisson_lock_*'] as const),
      ...['&redisson_lock__channel:*', '-@all', ...rights],
    );
    const user = { redis: scene.server.url.replace('//', '//clerk:secret@') };
    const [one, other] = [await scene.client(user), await scene.client(user)];
    const holder = await ask(one).granted();
    const [first, second, leaver] = [await inLine(other), await inLine(other), await inLine(one)];
    await scene.listeners(3);
    expect(await other.inspect('lock')).toMatchObject({ queueLength: 3 });
    leaver.abort();
    await leaver.refused();
    await pause(1.5 * LOOK); // renewed
    expect(holder.lease.state).toBe('held');
    await holder.release();
    await first.granted();
    expect(await one.forceRelease('lock')).toBe(true);
    await (await second.granted()).release();
    expect(await scene.isFree()).toBe(true);
    // What `query`, the board and the command line ask. The other client is found; no engine is here that answers for it.
    expect((await one.peers.askAll('{}', 1)).missing).toBe(1);
    expect(scene.warnings.filter((warning) => warning.includes('permission'))).toEqual([]);
    expect(await scene.redis.call('ACL', 'LOG')).toEqual([]);
  });

  describe('at start', () => {
    test('nothing is connected before', async () => {
      const made: Redis[] = [];
      const store = new RedissonLockStore({
        ...OPTIONS,
        redis: () => {
          const connection = new Redis(scene.server.url, { lazyConnect: true });
          made.push(connection);
          return connection;
        },
      });
      scene.closeLater(store);
      const states = (): string[] => made.map(({ status }) => status);
      expect(states()).toEqual(['wait', 'wait']);
      await store.start();
      expect(states()).toEqual(['ready', 'ready']);
    });

    test('a store that was never started closes, and one that is asked before connects', async () => {
      const options = { ...OPTIONS, redis: scene.server.url };
      await new RedissonLockStore(options).close();
      const store = new RedissonLockStore(options);
      scene.closeLater(store);
      expect(await store.inspect('lock')).toMatchObject({ queueLength: 0 });
      await (await ask(store).granted()).release();
    });

    const userWith = async (...rules: string[]): Promise<string> => {
      await scene.redis.call('ACL', 'SETUSER', 'clerk', 'reset', 'on', '>secret', ...rules);
      return scene.server.url.replace('//', '//clerk:secret@');
    };

    test('an operator is told of missing rights, by their names', async () => {
      await scene.client({ redis: await userWith('+@all', '-lpos', '-publish', '~*', '&*') });
      await scene.client({ redis: await userWith('+@all', '~order:*', '&*') });
      await scene.client({ redis: await userWith('+@all', '~*', '&other:*') });
      const warnings = scene.warnings.join('\n');
      expect(warnings).toMatch(/lacks permissions.*\+lpos, \+publish.*docs\/redisson\.md/);
      for (const rule of ['~redisson_lock_*', '&redisson_lock__channel:*']) expect(warnings).toContain(rule);
      expect(warnings).not.toContain('secret');
    });
  });

  describe('what cannot work', () => {
    test('a client with a keyPrefix is refused with a sentence: Java would not find its locks', () => {
      const make = (): RedissonLockStore =>
        new RedissonLockStore({
          ...OPTIONS,
          redis: { host: '127.0.0.1', port: scene.server.port, keyPrefix: 'app:' },
        });
      expect(make).toThrow(LockConfigurationError);
      expect(make).toThrow(/keyPrefix "app:"/);
    });
  });
});

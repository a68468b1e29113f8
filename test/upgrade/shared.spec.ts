import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Grant, LockStore, Share } from '../../lib/core/port/lock-store.js';
import { Wait } from '../../lib/core/port/wait.js';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { unpack } from './earlier-package.js';

const EARLIER = unpack('nestjs-fair-lock-before-0.1');
const READ: Share = { mode: 'read' };

describe('permits and readers beside processes of an earlier version', () => {
  const stores: LockStore[] = [];
  afterEach(() => Promise.all(stores.splice(0).map((store) => store.close())));

  /** One client of the earlier version, and one of this. */
  const both = async (): Promise<[earlier: LockStore, present: LockStore]> => {
    const file = pathToFileURL(join(EARLIER, 'stores', 'redis', 'redis-lock-store.js')).href;
    const { RedisLockStore: Earlier } = (await import(file)) as { RedisLockStore: typeof RedisLockStore };
    const options = {
      redis: redisUrl(),
      keyPrefix: uniquePrefix(),
      lease: 6_000,
      livenessWindow: 3_000,
      commandTimeout: 3_000,
      onWarning: () => undefined,
    };
    stores.push(new Earlier(options), new RedisLockStore(options));
    await Promise.all(stores.map((store) => store.start()));
    return stores as [LockStore, LockStore];
  };
  const ask = (store: LockStore, share?: Share, waitTime = 30_000): Promise<Grant> => {
    const request = { key: 'lock', waitTime, maxQueue: Infinity, label: 'test', ...(share && { share }) };
    // The earlier version takes the request itself.
    return store.acquire(store instanceof RedisLockStore ? new Wait(request) : (request as never));
  };

  test('the earlier one is told that a shared lock is newer, and changes nothing', async () => {
    const [earlier, present] = await both();
    const reader = await ask(present, READ);
    await expect(ask(earlier)).rejects.toMatchObject({ code: 'PROTOCOL', status: 503 });
    await expect(ask(earlier, undefined, 0)).rejects.toMatchObject({ code: 'PROTOCOL', status: 503 });
    expect(reader.lease.state).toBe('held');
    const other = await ask(present, READ);
    await Promise.all([reader.release(), other.release()]);
    await (await ask(earlier)).release();
  });

  test('a shared request is refused while the earlier one has the lock, and its plain lock works on', async () => {
    const [earlier, present] = await both();
    const held = await ask(earlier);
    await expect(ask(present, READ)).rejects.toMatchObject({ code: 'PROTOCOL', status: 503 });
    const next = ask(present);
    await held.release();
    const grant = await next;
    const last = ask(earlier);
    await grant.release();
    await (await last).release();
    await (await ask(present, READ)).release();
  });
});

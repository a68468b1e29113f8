import type { RedisSource } from '../../lib/stores/redis-client/connection/redis-source.js';
import { Redis } from 'ioredis';
import { RedissonLockStore } from '../../lib/stores/redisson/redisson-lock-store.js';
import { redisUrl } from './redis.js';

/** A database of the tests' Redis: Redisson's names have no prefix, so each test file takes one of its own. */
export function databaseUrl(database: number): string {
  const url = new URL(redisUrl());
  url.pathname = `/${database}`;
  return url.href;
}

/** What one lock is in Redis, as text. */
export interface RawLock {
  readonly lock: Record<string, string>;
  readonly queue: string[];
  /** Deadline by waiter. */
  readonly deadlines: Record<string, string>;
}

/** Reads a lock as any client sees it. */
export async function readLock(redis: Redis, name: string): Promise<RawLock> {
  const entries = await redis.zrange(`redisson_lock_timeout:{${name}}`, '0', '-1', 'WITHSCORES');
  const deadlines = entries.flatMap((waiter, i) => (i % 2 === 0 ? [[waiter, entries[i + 1] ?? '']] : []));
  return {
    lock: await redis.hgetall(name),
    queue: await redis.lrange(`redisson_lock_queue:{${name}}`, 0, -1),
    deadlines: Object.fromEntries(deadlines) as Record<string, string>,
  };
}

export interface StoreSettings {
  readonly redis: RedisSource;
  readonly lockWatchdogTimeout?: number;
  readonly fairLockWaitTimeout?: number;
  readonly commandTimeout?: number;
  readonly onWarning?: (message: string) => void;
}

/** A client that is connected. */
export async function startStore(settings: StoreSettings): Promise<RedissonLockStore> {
  const store = new RedissonLockStore({
    lockWatchdogTimeout: 30_000,
    fairLockWaitTimeout: 300_000,
    commandTimeout: 1_000,
    onWarning: () => undefined,
    ...settings,
  });
  await store.start();
  return store;
}

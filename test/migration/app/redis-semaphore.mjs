import { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';
import { fairLockService } from './ours.mjs';

const open = (url) => {
  const redis = new Redis(url);
  return {
    async withLock(key, section) {
      const mutex = new Mutex(redis, key, { lockTimeout: 10_000, acquireTimeout: 60_000 });
      await mutex.acquire();
      try {
        return await section();
      } finally {
        await mutex.release();
      }
    },
    close: () => redis.quit(),
  };
};

export async function before(url, work) {
  const old = open(url);
  return { sell: (id) => old.withLock(`stock/${id}`, () => work(id)), close: old.close };
}

export async function both(url, work) {
  const old = open(url);
  const locks = await fairLockService(url);
  return {
    sell: (id) => locks.withLock(`stock:${id}`, () => old.withLock(`stock/${id}`, () => work(id))),
    close: async () => {
      await locks.close();
      await old.close();
    },
  };
}

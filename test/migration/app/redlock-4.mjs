import { Redis } from 'ioredis';
import Redlock from 'redlock4';
import { fairLockService } from './ours.mjs';

const open = (url) => {
  const redis = new Redis(url);
  const redlock = new Redlock([redis], { retryCount: -1, retryDelay: 20, retryJitter: 20 });
  return {
    async withLock(resource, section) {
      const lock = await redlock.lock(resource, 10_000);
      try {
        return await section();
      } finally {
        await lock.unlock();
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

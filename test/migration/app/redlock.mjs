import { Redis } from 'ioredis';
import { fairLockService } from './ours.mjs';

const SETTINGS = { retryCount: -1, retryDelay: 20, retryJitter: 20 };

/** Redlock 5, and what keeps to its interface: `using` extends the lock while the routine runs. */
export const applicationsOf = (Redlock) => {
  const open = (url) => {
    const redis = new Redis(url);
    const redlock = new Redlock([redis], SETTINGS);
    redlock.on('error', () => {}); // one for each try on a busy lock
    return { redlock, close: () => redis.quit() };
  };
  return {
    async before(url, work) {
      const { redlock, close } = open(url);
      return { sell: (id) => redlock.using([`stock/${id}`], 10_000, () => work(id)), close };
    },
    async both(url, work) {
      const { redlock, close } = open(url);
      const locks = await fairLockService(url);
      return {
        sell: (id) =>
          locks.withLock(`stock:${id}`, () => redlock.using([`stock/${id}`], 10_000, () => work(id))),
        close: async () => {
          await locks.close();
          await close();
        },
      };
    },
  };
};

const { default: Redlock } = await import('redlock');
export const { before, both } = applicationsOf(Redlock);

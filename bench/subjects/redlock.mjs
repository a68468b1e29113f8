import { Redis } from 'ioredis';

const LEASE = 30_000;

/** Redlock, or what keeps to its interface. @param load its class */
export const redlockOf = (name, label, load) => ({
  name,
  label,
  role: 'peer',
  crossProcess: true,
  commands: ['evalsha', 'eval'],
  setUp: 'acquire and release for 30 s on one node; defaults (a try every 200 ± 100 ms), tries without end',

  async open({ url }) {
    const Redlock = await load();
    const redis = new Redis(url);
    const redlock = new Redlock([redis], { retryCount: -1 });
    redlock.on('error', () => {}); // one for each try on a busy lock
    await redis.ping();
    return {
      async lock(key) {
        const lock = await redlock.acquire([key], LEASE);
        return () => lock.release();
      },
      close: () => redis.quit(),
    };
  },
});

export default redlockOf('redlock', 'redlock 5 beta', async () => (await import('redlock')).default);

import { Redis } from 'ioredis';

const LEASE = 30_000;

export default {
  name: 'redis-semaphore',
  label: 'redis-semaphore Mutex',
  role: 'peer',
  crossProcess: true,
  permits: 'redis-semaphore Semaphore',
  commands: ['set', 'evalsha', 'eval'],
  setUp:
    'Mutex, or Semaphore for permits, of 30 s with its own renewing; a try every 10 ms (default), without end',

  async open({ url }) {
    const { Mutex, Semaphore } = await import('redis-semaphore');
    const redis = new Redis(url);
    await redis.ping();
    const options = { lockTimeout: LEASE, acquireTimeout: Infinity, onLockLost: () => {} };
    return {
      async lock(key, { permits } = {}) {
        const mutex = permits ? new Semaphore(redis, key, permits, options) : new Mutex(redis, key, options);
        await mutex.acquire();
        return () => mutex.release();
      },
      close: () => redis.quit(),
    };
  },
};

import { Redis } from 'ioredis';

const LEASE = 30_000;

export default {
  name: 'redis-semaphore',
  label: 'redis-semaphore Mutex',
  role: 'peer',
  crossProcess: true,
  commands: ['set', 'evalsha', 'eval'],
  setUp: 'Mutex of 30 s with its own renewing; a try every 10 ms (default), without end',

  async open({ url }) {
    const { Mutex } = await import('redis-semaphore');
    const redis = new Redis(url);
    await redis.ping();
    const options = { lockTimeout: LEASE, acquireTimeout: Infinity, onLockLost: () => {} };
    return {
      async lock(key) {
        const mutex = new Mutex(redis, key, options);
        await mutex.acquire();
        return () => mutex.release();
      },
      close: () => redis.quit(),
    };
  },
};

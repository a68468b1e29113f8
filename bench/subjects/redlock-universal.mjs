import { Redis } from 'ioredis';

const LEASE = 30_000;
const LEAST_NODE = 22;

export default {
  name: 'redlock-universal',
  label: 'redlock-universal',
  role: 'peer',
  crossProcess: true,
  commands: ['set', 'evalsha', 'eval', 'ping'],
  setUp: "createLock of 30 s, performance: 'lean', a try every 100 ms (default), without end",

  missing() {
    const major = Number(process.versions.node.split('.')[0]);
    return major < LEAST_NODE ? `needs Node ${LEAST_NODE}, this is ${process.version}` : undefined;
  },

  async open({ url }) {
    const { createLock, IoredisAdapter } = await import('redlock-universal');
    const redis = new Redis(url);
    await redis.ping();
    const options = {
      adapter: new IoredisAdapter(redis),
      ttl: LEASE,
      retryAttempts: Number.MAX_SAFE_INTEGER,
      performance: 'lean',
    };
    // A lock is made once a key, as its documentation shows: a new one sends a PING first.
    const locks = new Map();
    return {
      async lock(key) {
        let lock = locks.get(key);
        if (!lock) locks.set(key, (lock = createLock({ ...options, key })));
        const handle = await lock.acquire();
        return () => lock.release(handle);
      },
      close: () => redis.quit(),
    };
  },
};

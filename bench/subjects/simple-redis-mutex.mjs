const LEASE = 30_000;

export default {
  name: 'simple-redis-mutex',
  label: 'simple-redis-mutex',
  role: 'peer',
  crossProcess: true,
  commands: ['set', 'incr', 'evalsha', 'eval'],
  setUp: 'lock of 30 s on node-redis, defaults: woken by a message, and a try every 10 s',

  async open({ url }) {
    const { createClient } = await import('redis');
    const { lock } = await import('simple-redis-mutex');
    const redis = createClient({ url });
    redis.on('error', () => {});
    await redis.connect();
    return {
      lock: (key) => lock(redis, key, { timeout: LEASE }),
      close: () => redis.quit(),
    };
  },
};

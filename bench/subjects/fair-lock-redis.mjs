import { built, ON_REDIS, openEngine } from './built-package.mjs';

export default {
  name: 'fair-lock',
  label: 'nestjs-fair-lock',
  ...ON_REDIS,
  setUp: "store: 'redis', all options at their defaults, a finite waitTime",

  async open({ url }) {
    const { RedisLockStore } = await built('stores/redis/redis-lock-store.js');
    const store = new RedisLockStore({
      redis: url,
      keyPrefix: 'fairlock',
      lease: 30_000,
      livenessWindow: 10_000,
      commandTimeout: 1_000,
      onWarning: (message) => console.error(message),
    });
    return openEngine(store);
  },
};

import { built, ON_REDIS, openEngine } from './built-package.mjs';

export default {
  name: 'fair-lock-redisson',
  label: "nestjs-fair-lock, store 'redisson'",
  ...ON_REDIS,
  setUp: "store: 'redisson' (Redisson's wire format), all options at their defaults, a finite waitTime",

  async open({ url }) {
    const { RedissonLockStore } = await built('stores/redisson/redisson-lock-store.js');
    const store = new RedissonLockStore({
      redis: url,
      lockWatchdogTimeout: 30_000,
      fairLockWaitTimeout: 300_000,
      commandTimeout: 1_000,
      onWarning: (message) => console.error(message),
    });
    return openEngine(store);
  },
};

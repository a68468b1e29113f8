import { built, ON_REDIS, openEngine } from './built-package.mjs';

/** The native store of a build of the package: of this one, if `dist` is undefined. */
export const fairLock = (name, label, keyPrefix, dist) => ({
  name,
  label,
  ...ON_REDIS,
  permits: `${label}, permits`,
  readers: `${label}, mode`,
  setUp: "store: 'redis', all options at their defaults, a finite waitTime",

  async open({ url }) {
    const { RedisLockStore } = await built('stores/redis/redis-lock-store.js', dist);
    const store = new RedisLockStore({
      redis: url,
      keyPrefix,
      lease: 30_000,
      livenessWindow: 10_000,
      commandTimeout: 1_000,
      onWarning: (message) => console.error(message),
    });
    return openEngine(store, dist);
  },
});

export default fairLock('fair-lock', 'nestjs-fair-lock', 'fairlock');

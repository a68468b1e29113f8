import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { type Capabilities, type StoreFactory } from './bench.js';

const LEASE = 3_000;

export const capabilities: Capabilities = {
  fencing: true,
  severalClients: true,
  lease: LEASE,
  waiterLabels: false,
  runs: true,
  knowsOthers: true,
  refusedNames: undefined,
  sharedLines: undefined,
};

/** Clients of one line that no other test file knows. */
export function redisLine(): StoreFactory {
  const keyPrefix = uniquePrefix();
  return () =>
    new RedisLockStore({
      redis: redisUrl(),
      keyPrefix,
      lease: LEASE,
      livenessWindow: 2_000,
      commandTimeout: 3_000, // the deadline has tests of its own; here other files keep the same server busy
      onWarning: () => undefined,
    });
}

import { RedissonLockStore } from '../../lib/stores/redisson/redisson-lock-store.js';
import { redisUrl } from '../support/redis.js';
import { type Capabilities, type StoreFactory } from './bench.js';

const LEASE = 3_000;

export const capabilities: Capabilities = {
  fencing: false,
  severalClients: true,
  lease: LEASE,
  waiterLabels: true,
  runs: false,
  knowsOthers: false,
  refusedNames: /\p{Surrogate}/u,
};

/** Clients of one line. */
export function redissonLine(): StoreFactory {
  return () =>
    new RedissonLockStore({
      redis: redisUrl(),
      lockWatchdogTimeout: LEASE,
      fairLockWaitTimeout: 300_000,
      commandTimeout: 1_000,
      onWarning: () => undefined,
    });
}

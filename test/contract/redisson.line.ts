import { RedissonLockStore } from '../../lib/stores/redisson/redisson-lock-store.js';
import { redisUrl } from '../support/redis.js';
import { type Capabilities, type StoreFactory } from './store-under-test.js';

/** No machine stands still for so long, ms. */
const LEASE = 30_000;

export const capabilities: Capabilities = {
  fencing: false,
  sharing: false,
  severalClients: true,
  leases: true,
  waiterLabels: true,
  runs: false,
  knowsOthers: false,
  fixedLeasesLearn: false,
  refusedNames: /\p{Surrogate}/u,
  sharedLines: /^\{[^{]*\}$/,
};

/** Clients of one line. Redisson's names have no prefix, so each test file takes a database of its own. */
export function redissonLine(database: number): StoreFactory {
  const url = new URL(redisUrl());
  url.pathname = `/${database}`;
  return (lease = LEASE) =>
    new RedissonLockStore({
      redis: url.href,
      lockWatchdogTimeout: lease,
      fairLockWaitTimeout: 300_000,
      // A thousand waiters keep this store's O(N) scripts, and so the server, busy for seconds; the deadline has its own tests.
      commandTimeout: 10_000,
      onWarning: () => undefined,
    });
}

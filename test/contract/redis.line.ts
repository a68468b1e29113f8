import type { RedisSource } from '../../lib/stores/redis-client/connection/redis-source.js';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { ROW_LENGTH } from '../../lib/stores/redis/row.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { type Capabilities, type StoreFactory } from './store-under-test.js';

/** No machine stands still for so long, ms. */
const LEASE = 30_000;

export const capabilities: Capabilities = {
  fencing: true,
  sharing: true,
  severalClients: true,
  leases: true,
  waiterLabels: true,
  runs: true,
  knowsOthers: true,
  fixedLeasesLearn: true,
  refusedNames: undefined,
  sharedLines: undefined,
};

/** Clients of one line that no other test file knows. */
export function redisLine(keyPrefix = uniquePrefix()): StoreFactory {
  return lineOfItsOwn(redisUrl, keyPrefix);
}

/** The same, but no request shares the hold of another. */
export function redisLineWithoutRows(): StoreFactory {
  return lineOfItsOwn(redisUrl, uniquePrefix(), 1);
}

/** Registrations on one server, each with its own prefix: a plain one, one that looks like its channels, one with white space. */
export function redisRegistrations(): StoreFactory[] {
  const prefix = uniquePrefix();
  return [prefix, `${prefix}:client`, `${prefix} ż\t*`].map(redisLine);
}

/** The same on servers of its own. @param redis asked when they run */
export function lineOfItsOwn(
  redis: () => RedisSource,
  keyPrefix = uniquePrefix(),
  rowLength = ROW_LENGTH,
): StoreFactory {
  return (lease = LEASE) =>
    new RedisLockStore({
      redis: redis(),
      keyPrefix,
      rowLength,
      lease,
      livenessWindow: 4_000,
      // The deadline has tests of its own; here other files keep the same machine busy.
      commandTimeout: 3_000,
      onWarning: () => undefined,
    });
}

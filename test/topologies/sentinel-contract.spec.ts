import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { describeLockStore } from '../contract/lock-store.contract.js';
import { capabilities } from '../contract/redis.line.js';
import { uniquePrefix } from '../support/redis.js';
import { SentinelSetup } from '../support/sentinel.js';

let setup: SentinelSetup;
beforeAll(async () => {
  setup = await SentinelSetup.start();
}, 60_000);
afterAll(() => setup.stop());

const keyPrefix = uniquePrefix();

describeLockStore(
  'redis store behind sentinels',
  () =>
    new RedisLockStore({
      redis: setup.options,
      keyPrefix,
      lease: capabilities.lease,
      livenessWindow: 2_000,
      commandTimeout: 1_500,
      onWarning: () => undefined,
    }),
  capabilities,
);

import { describeLockStore } from '../contract/lock-store.contract.js';
import { capabilities, lineOfItsOwn } from '../contract/redis.line.js';
import { SentinelSetup } from '../support/sentinel.js';

let setup: SentinelSetup;
beforeAll(async () => {
  setup = await SentinelSetup.start();
});
afterAll(() => setup.stop());

describeLockStore(
  'redis store behind sentinels',
  lineOfItsOwn(() => setup.options),
  capabilities,
);

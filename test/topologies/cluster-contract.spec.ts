import { type Cluster } from 'ioredis';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { describeLockStore } from '../contract/lock-store.contract.js';
import { capabilities } from '../contract/redis.line.js';
import { RedisCluster } from '../support/cluster.js';
import { uniquePrefix } from '../support/redis.js';

let cluster: RedisCluster;
let users: Cluster;
beforeAll(async () => {
  cluster = await RedisCluster.start();
  users = cluster.client();
}, 60_000);
afterAll(async () => {
  users.disconnect();
  await cluster.stop();
});

const keyPrefix = uniquePrefix();

describeLockStore(
  'redis store on a Cluster',
  () =>
    new RedisLockStore({
      redis: users,
      keyPrefix,
      lease: capabilities.lease,
      livenessWindow: 2_000,
      commandTimeout: 1_500,
      onWarning: () => undefined,
    }),
  capabilities,
);

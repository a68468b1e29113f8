import { type Cluster } from 'ioredis';
import { describeLockStore } from '../contract/lock-store.contract.js';
import { capabilities, lineOfItsOwn } from '../contract/redis.line.js';
import { RedisCluster } from '../support/cluster.js';

let cluster: RedisCluster;
let users: Cluster;
beforeAll(async () => {
  cluster = await RedisCluster.start();
  users = cluster.client();
});
afterAll(async () => {
  users.disconnect();
  await cluster.stop();
});

describeLockStore(
  'redis store on a Cluster',
  lineOfItsOwn(() => users),
  capabilities,
);

import type { RequiredCommands } from '../redis-client/start-up/start-up-check.js';

/**
 * The commands, keys and channels that the scripts use and the Redis user must be allowed.
 *
 * @param keyPrefix of the store
 * @param clientPrefix the user's ioredis key prefix, which ioredis puts before keys
 */
export function requiredCommands(keyPrefix: string, clientPrefix: string): RequiredCommands {
  const all = `${clientPrefix}${keyPrefix}:*`;
  return {
    // This cannot be the name of a lock: in an encoded name, two hexadecimal digits, `u` or `h` follow a percent sign.
    key: `${keyPrefix}:{%check}`,
    keys: all,
    channels: all,
    page: 'docs/redis-setup.md#the-minimal-acl-rule',
    wrongClock:
      'Locks use only the Redis clock. But if that clock is corrected in one step, leases expire early or late; and after a failover ' +
      'to a server with another clock, fencing tokens may decrease.',
    commands: [
      'TIME',
      'EXISTS KEY',
      'HSET KEY field value',
      'PTTL KEY',
      'PEXPIRE KEY 1000',
      'DEL KEY',
      'HGET KEY field',
      'HMGET KEY field',
      'HEXISTS KEY field',
      'HLEN KEY',
      'HSCAN KEY 0',
      'HDEL KEY field',
      'ZADD KEY 1 member',
      'ZCARD KEY',
      'ZSCORE KEY member',
      'ZRANK KEY member',
      'ZRANGE KEY 0 0',
      'ZREVRANGE KEY 0 0',
      'ZREM KEY member',
      'ZREMRANGEBYSCORE KEY 0 0',
    ],
    messages: [
      `PUBSUB NUMSUB ${clientPrefix}${keyPrefix}:client:check`,
      `PUBLISH ${clientPrefix}${keyPrefix}:client:check ping`,
    ],
  };
}

/** The commands that a Redis user of the native store needs. */
export const NEEDED_COMMANDS = [
  'eval evalsha info subscribe',
  'time hget hmget hset hdel hlen hscan pexpire pexpireat zadd zcard zscore zrank zrange zrevrange zrangebyscore zrem zremrangebyrank',
  'publish pubsub|numsub',
]
  .join(' ')
  .split(' ');

/** The commands that a Redis user of the native store needs. */
export const NEEDED_COMMANDS = [
  'eval evalsha info subscribe',
  'time hget hmget hset hdel hlen hexists hscan exists del pexpire pttl zadd zcard zscore zrank zrange zrevrange zrem',
  'publish pubsub|numsub',
]
  .join(' ')
  .split(' ');

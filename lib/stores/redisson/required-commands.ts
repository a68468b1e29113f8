import type { RequiredCommands } from '../redis-client/start-up/start-up-check.js';

const CHECK = '{fair-lock-check}';

/** The rights that the scripts need. Names of locks have no common form, so rights for their keys are not checked. */
export const REQUIRED: RequiredCommands = {
  key: `redisson_lock_queue:${CHECK}`,
  keys: 'redisson_lock_*',
  channels: 'redisson_lock__channel:*',
  commands: [
    'TIME',
    'HSET KEY field value',
    'HKEYS KEY',
    'PEXPIRE KEY 1000',
    'PTTL KEY',
    'DEL KEY',
    'RPUSH KEY waiter',
    'LINDEX KEY 0',
    'LPOS KEY waiter',
    'LLEN KEY',
    'LRANGE KEY 0 0',
    'LREM KEY 0 waiter',
    'LPOP KEY',
    'ZADD KEY 1 waiter',
    'ZSCORE KEY waiter',
    'ZRANGE KEY 0 0',
    'ZREM KEY waiter',
  ],
  messages: [`PUBLISH redisson_lock__channel:${CHECK}:check 0`],
  page: 'docs/redisson.md#rights-and-redis-cluster',
  wrongClock:
    'Waiters have deadlines by the clocks of the hosts, in Java too: a host whose clock is ahead drops live waiters.',
};

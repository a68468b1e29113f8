-- Who holds the lock and who waits. Writes nothing.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] how many holders and waiters to name
-- Returns { time in ms, mode ('' if nothing is held), used, limit ('' if none), { field, value … } of the hash, how many wait,
--       { name, ticket … } of those in line, { client, until when it counts as alive … } }
-- Errors FORMAT, PROTOCOL
--- include: lock
local most, lock, problem = ARGV[1], open(redis.call('TIME'), 1)
if problem then
  return redis.error_reply(problem)
end
return {
  number(lock.now), lock.mode or '', number(lock.used), lock.limit and number(lock.limit) or '',
  redis.call('HSCAN', lock.hash, 0, 'MATCH', 'h:*', 'COUNT', most)[2],
  redis.call('ZCARD', lock.queue) + lock.rest,
  redis.call('ZRANGE', lock.queue, 0, most - 1, 'WITHSCORES'),
  redis.call('ZRANGE', lock.clients, 0, most - 1, 'WITHSCORES'),
}

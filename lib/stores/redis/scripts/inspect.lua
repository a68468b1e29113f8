-- Who holds the lock and who waits. Writes nothing.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] how many holders and waiters to name
-- Returns { time in ms, mode ('' if nothing is held), used, limit ('' if none), { field, value … } of the holds, how many wait,
--       { name, ticket … } of those in the queue, { client, until when it counts as alive … },
--       { channel, how many listen … } of the first holders that Redis can count, the token that was given last }
-- Errors FORMAT, PROTOCOL
--- include: lock
--- include: terms
--- include: holders
local most, lock, problem = tonumber(ARGV[1]), open(redis.call('TIME'), 1)
if problem then
  return redis.error_reply(problem)
end
-- For how many holders the reply says whether anybody listens.
local MOST_COUNTED = 16
local holds, channels, limit = {}, {}, smallestLimit(lock)
eachHold(lock, MOST_HOLDERS, function(id, value)
  holds[#holds + 1], holds[#holds + 2] = 'h:' .. id, value
  if #channels < MOST_COUNTED and not readHold(value).terms.isUncounted then
    channels[#channels + 1] = lock.prefix .. 'client:' .. string.match(id, '^-?([^:]*)')
  end
  return #holds >= 2 * most
end)
local listeners = redis.pcall('PUBSUB', 'NUMSUB', unpack(channels))
return {
  number(lock.now), lock.mode or '', number(lock.used), limit and number(limit) or '',
  holds,
  redis.call('ZCARD', lock.queue),
  redis.call('ZRANGE', lock.queue, 0, most - 1, 'WITHSCORES'),
  redis.call('ZRANGE', lock.clients, 0, most - 1, 'WITHSCORES'),
  listeners.err and {} or listeners,
  number(lock.token),
}

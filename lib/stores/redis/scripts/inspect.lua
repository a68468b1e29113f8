-- Who holds the lock and who waits. Writes nothing.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] client  [2] how many waiters to name
-- Returns { time in ms, holder ('' if free), label, first token, held for ms, lease left in ms, length of the line,
--           { member, ticket in µs, liveness deadline in ms, record, … } four entries a waiter, in order,
--           record of the holder if it waits too ('' if not) }
--- include: state
local members = redis.call('ZRANGE', queue, 0, tonumber(ARGV[2]) - 1, 'WITHSCORES')
local waiters = {}
for i = 1, #members, 2 do
  local name = string.match(members[i], '^[^:]+')
  waiters[#waiters + 1] = members[i]
  waiters[#waiters + 1] = members[i + 1]
  waiters[#waiters + 1] = redis.call('ZSCORE', clients, name) or '0'
  waiters[#waiters + 1] = redis.call('HGET', hash, 'c:' .. name) or ''
end
local length = redis.call('ZCARD', queue)
if held() and leaseEnd > now then
  local known = redis.call('HGET', hash, 'c:' .. holder) or ''
  return { now, holder, label, tonumber(first), heldFor(), leaseEnd - now, length, waiters, known }
end
return { now, '', '', 0, 0, 0, length, waiters, '' }

-- Out of the line in O(log N). Never ends a grant (M3, M4); carries no deadline (R2).
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] client  [2] member  [3] 'waiting' or 'idle': what the caller does apart from this request  [4] terms
--       [5] guard
-- Returns answer('LEFT', a, b, c): a = label of the holder, b = held for ms, c = how many were to be served before (-1: was not in line)
--- include: state
local terms, guard = ARGV[4], ARGV[5]
--- include: line
local rank = redis.call('ZRANK', queue, ARGV[2])
local before = unserved()
wrote = true
redis.call('ZREM', queue, ARGV[2])
if ARGV[3] == 'waiting' then
  speak()
end
settle()
if redis.call('ZCARD', queue) == 0 then
  keep(clients, REST)
end
return answer('LEFT', whoHolds(), heldFor(), rank and rank + before or -1)

-- Takes a request out of the line in O(log N). Never ends a grant (M3, M4); carries no deadline (R2).
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] the caller  [2] sequence of the request  [3] its fixed lease, '' or 'alone'
--       [4] 'waiting' if the caller has other requests in line, else 'idle'
--       [5] to [7], if [4] is 'waiting': the caller's listener (includes/lock.lua)
-- Returns reply('LEFT', a, b, c, d): a = label of the holder, b = held for ms, c = how many requests were ahead of it (-1: it was
--       not in line), d = ms for which the lock is kept, if it is
-- Errors PROTOCOL or NEWER before any write.
--- include: line
local member = memberOf(ARGV[2], ARGV[3])
local rank, before = redis.call('ZRANK', queue, member), unserved()
-- This write is allowed when memory is full (R3).
redis.call('ZREM', queue, member)
if ARGV[4] == 'waiting' then
  markAlive()
end
settle()
leaveToExpire()
--- include: blocker
local who, heldFor, keptFor = whoHolds()
return reply('LEFT', who, heldFor, rank and rank + before or -1, keptFor)

-- Shared requests are over for their client: takes them out wherever they are, in the line or among those that hold the lock, and passes
-- the lock on. Repeating it changes nothing; carries no deadline (R2).
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] the caller  [2] the requests, each with its mark (includes/kinds.lua), '' if the caller does not know it: '4:r 5:p1/3 6:'
--       [3] for how many ms, counted from the grant, the weight is kept; 0: not
--       [4] 'waiting' if the caller has other requests in line and is to be marked alive, else 'idle'
--       [5] to [7], if [4] is 'waiting': the caller's listener (includes/lock.lua)
-- Returns reply('LEFT', a, b, c, d) as leave, for the first request that was in line
-- Errors PROTOCOL or NEWER before any write.
--- include: line
local rank, before = nil, unserved()
-- The first write is one that is allowed when memory is full (R3).
keepHash()
for sequence, mark in string.gmatch(ARGV[2], '(%d+):(%S*)') do
  -- The hold of a request may have been put back in line, or the server may have gone back to a time before it.
  local member = memberOf(sequence, mark)
  local place = redis.call('ZRANK', queue, member)
  if place then
    redis.call('ZREM', queue, member)
    rank = rank or place
  end
  if kinds then
    endShare(client, sequence, whole(ARGV[3]) or 0)
  end
end
if ARGV[4] == 'waiting' then
  markAlive()
end
settle()
leaveToExpire()
--- include: blocker
local who, heldFor, keptFor = whoHolds()
return reply('LEFT', who, heldFor, rank and rank + before or -1, keptFor)

-- Shared requests are over for their client: takes them out wherever they are, in the line or among those that hold the lock, and passes
-- the lock on. Repeating it changes nothing; carries no deadline (R2).
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] the caller  [2] sequences of the requests: '4,5,6'  [3] if it is one that may be in line: its mark (includes/kinds.lua), else ''
--       [4] for how many ms, counted from the grant, the weight is kept; 0: not
--       [5] 'waiting' if the caller has other requests in line and is to be marked alive, else 'idle'
--       [6] to [8], if [5] is 'waiting': the caller's listener (includes/lock.lua)
-- Returns reply('LEFT', a, b, c, d) as leave
-- Errors PROTOCOL or NEWER before any write.
--- include: line
local member = memberOf(ARGV[2], ARGV[3])
local rank, before = ARGV[3] ~= '' and redis.call('ZRANK', queue, member), unserved()
-- The first write is one that is allowed when memory is full (R3).
keepHash()
if rank then
  redis.call('ZREM', queue, member)
end
for sequence in string.gmatch(kinds and ARGV[2] or '', '%d+') do
  endShare(client, sequence, whole(ARGV[4]) or 0)
end
if ARGV[5] == 'waiting' then
  markAlive()
end
settle()
leaveToExpire()
--- include: blocker
local who, heldFor, keptFor = whoHolds()
return reply('LEFT', who, heldFor, rank and rank + before or -1, keptFor)

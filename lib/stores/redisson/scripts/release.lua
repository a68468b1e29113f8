-- Ends a grant and wakes the head of the queue. Repeating it is harmless, since no request holds twice; works when memory is full.
--
-- KEYS  [1] lock  [2] queue  [3] deadlines
-- ARGV  [1] request  [2] client clock  [3] channel  [4] publish  [5] until when nobody gets the lock (Redis ms), 0: not kept
-- Returns status, Redis time, the head that was woken or ''
--       RELEASED  the grant has ended, since this call or an earlier one
--       LOST      the lock has another holder; the script only dropped dead heads
--- include: lock
local keeper = KEPT .. request
if holder and not holds() and holder ~= keeper then
  return { 'LOST', time, '' }
end
local keptFor = tonumber(ARGV[5]) - time
if holds() then
  free()
  if keptFor > 0 then
    -- To all clients, also those in Java, this is a holder, whose lease ends then.
    redis.call('HSET', lock, keeper, 1)
    redis.call('PEXPIRE', lock, keptFor)
  end
end
-- The head asks, and learns the end of that time if the lock is kept.
local head = dropStale()
wake(head)
return { 'RELEASED', time, head or '' }

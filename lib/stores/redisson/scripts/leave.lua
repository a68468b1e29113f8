-- Takes a request out of the queue, and ends its grant if it has one that came too late. Repeating it
-- changes nothing; carries no deadline, and works when memory is full.
--
-- KEYS  [1] lock  [2] queue  [3] deadlines
-- ARGV  [1] request  [2] client clock  [3] channel  [4] publish  [5] ms that the request would have waited
-- Returns 'LEFT', Redis time, the head that was woken or '', the holder or '', how many were ahead (-1: was not in the queue), ms
--         left of the lease
--- include: lock
local place = redis.call('LPOS', queue, request)
local behind = place and redis.call('LRANGE', queue, place + 1, -1) or {}
local deadline = place == 0 and redis.call('ZSCORE', deadlines, request)
redis.call('LREM', queue, 0, request)
redis.call('ZREM', deadlines, request)
oneWaitLess(behind, tonumber(ARGV[5]), deadline)
if holds() then
  free()
end
local head
if not holder then
  -- The request may already have been woken as the head: wake the next one instead.
  head = dropStale()
  wake(head)
end
return { 'LEFT', time, head or '', holder or '', place or -1, redis.call('PTTL', lock) }

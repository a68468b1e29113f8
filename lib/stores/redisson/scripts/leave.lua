-- Takes requests out of the queue, and ends the grant of one that has it too late. Repeating it changes nothing; works when memory is
-- full. One pass over the queue, however many leave.
--
-- KEYS  [1] lock  [2] queue  [3] deadlines
-- ARGV  [1] ''  [2] client clock  [3] channel  [4] publish
--       for each request: the request, ms that it would have waited
-- Returns 'LEFT', Redis time, the head that was woken or '', the holder or '', ms left of the lease, for each request how many were ahead
--         (-1: it was not in the queue)
--- include: lock
local waits = {}
for i = 5, #ARGV, 2 do
  waits[ARGV[i]] = tonumber(ARGV[i + 1])
end

-- How far the deadlines of those behind move.
local shift, isHead, places = 0, true, {}
for index, waiter in ipairs(redis.call('LRANGE', queue, 0, -1)) do
  local wait = waits[waiter]
  if wait then
    places[waiter] = index - 1
    local deadline = isHead and redis.call('ZSCORE', deadlines, waiter)
    shift = shift + lateness(wait, deadline and deadline + shift) - wait
    -- A write that Redis allows when memory is full comes first.
    redis.call('LREM', queue, 1, waiter)
    redis.call('ZREM', deadlines, waiter)
  else
    isHead = false
    if shift ~= 0 then
      redis.call('ZADD', deadlines, 'XX', 'INCR', shift, waiter)
    end
  end
end
if waits[holder] then
  free()
end
local head
if not holder then
  -- A request may already have been woken as the head: wake the next one instead.
  head = dropStale()
  wake(head)
end
local reply = { 'LEFT', time, head or '', holder or '', redis.call('PTTL', lock) }
for i = 5, #ARGV, 2 do
  reply[#reply + 1] = places[ARGV[i]] or -1
end
return reply

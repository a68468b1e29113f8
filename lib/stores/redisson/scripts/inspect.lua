-- Shows who holds and who waits. Writes nothing.
--
-- KEYS  [1] lock  [2] queue  [3] deadlines
-- ARGV  [1] ''  [2] client clock  [3] channel  [4] publish  [5] how many waiters to name
-- Returns 'SHOWN', Redis time, the holder or '', ms left of its lease, how many wait, then for each of the first: the
--         waiter, and ms left to its deadline
--- include: lock
local reply = { 'SHOWN', time, holder or '', redis.call('PTTL', lock), redis.call('LLEN', queue) }
for _, waiter in ipairs(redis.call('LRANGE', queue, 0, ARGV[5] - 1)) do
  reply[#reply + 1] = waiter
  reply[#reply + 1] = math.floor(tonumber(redis.call('ZSCORE', deadlines, waiter) or 0) - now)
end
return reply

-- Takes the lock, or a place in the queue. Repeating it changes nothing: a request that already holds gets HELD and is not counted twice.
--
-- KEYS  [1] lock  [2] queue  [3] deadlines
-- ARGV  [1] request  [2] client clock  [3] channel  [4] publish
--       [5] ms that the request may wait, from which deadlines are computed  [6] lease in ms
--       [7] 'try': never queue, or 'wait'  [8] most that may wait, -1: any number
-- Returns status, Redis time, and for
--       HELD     ms left of the lease, how many wait
--       BUSY     the holder, or the head of the queue if it is its turn; ms left of the lease
--       FULL     nothing
--       WAITS    how many are ahead, 'new' or 'kept': its place, the holder and the ms left of its lease (-1: endless), or, if
--                the lock is free, '' and the ms left to the head's deadline, and the head
--- include: lock
local wait, lease = tonumber(ARGV[5]), ARGV[6]
if holds() then
  return { 'HELD', time, redis.call('PTTL', lock), redis.call('LLEN', queue) }
end

-- Moves the deadlines of waiters by `ms`.
local function move(waiters, ms)
  for _, waiter in ipairs(waiters) do
    redis.call('ZADD', deadlines, 'XX', 'INCR', ms, waiter)
  end
end

local head, headDeadline = dropStale()
if not holder and (not head or head == request) then
  -- Before the first write, so that a foreign type of the deadlines fails there.
  local behind = redis.call('ZRANGE', deadlines, 0, -1)
  -- When memory is full, a request in the queue may still take the lock, and HSET rejects a new one.
  if head then
    redis.call('LPOP', queue)
  end
  redis.call('HSET', lock, request, 1)
  redis.call('PEXPIRE', lock, lease)
  redis.call('ZREM', deadlines, request)
  -- Redisson's own step when a waiter is served: one wait time less.
  move(behind, lateness(wait, headDeadline) - wait)
  return { 'HELD', time, tonumber(lease), redis.call('LLEN', queue) }
end
if not holder then
  -- The head may have missed its message, or the lease may have ended, which no message announces.
  wake(head)
end
if ARGV[7] == 'try' then
  return { 'BUSY', time, holder or head, redis.call('PTTL', lock) }
end

local left = redis.call('PTTL', lock)
local place = redis.call('LPOS', queue, request)
if place and redis.call('ZSCORE', deadlines, request) then
  local late = lateness(wait, headDeadline)
  if head == request and late > wait / 3 then
    -- The head lives, and has waited for longer than expected. Each look would read the whole queue, so this waits until it is worth it.
    -- First a write that Redis allows when memory is full.
    redis.call('ZREM', deadlines, '')
    move(redis.call('ZRANGE', deadlines, 0, -1), late)
    headDeadline = headDeadline + late
  end
  return { 'WAITS', time, place, 'kept', holder or '', holder and left or headDeadline - now, head or request }
end

local length = redis.call('LLEN', queue)
if place then
  -- The deadline of the request was lost, so it enters the queue again.
  length = length - redis.call('LREM', queue, 0, request)
elseif tonumber(ARGV[8]) >= 0 and length >= tonumber(ARGV[8]) then
  return { 'FULL', time }
end
-- The deadline is computed from that of the last in the queue, or from the end of the lease.
local last = redis.call('LINDEX', queue, -1)
local lastDeadline = last and redis.call('ZSCORE', deadlines, last)
local turn = lastDeadline and tonumber(lastDeadline) or left + now
redis.call('ZADD', deadlines, string.format('%.0f', turn + wait), request)
redis.call('RPUSH', queue, request)
return { 'WAITS', time, length, 'new', holder or '', holder and left or headDeadline - now, head or request }

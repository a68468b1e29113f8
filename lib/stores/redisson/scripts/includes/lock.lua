-- What every script knows of a lock in Redisson's wire format.
--
-- KEYS[1] the lock: a hash of one field, the holder -> how often it holds; its TTL is the lease
-- KEYS[2] the queue: a list of waiters, the next to be served first
-- KEYS[3] the deadlines: a sorted set, waiter -> ms by the clocks of the clients
-- ARGV[1] the calling request: a holder or a waiter is <uuid of its client>:<thread number>
-- ARGV[2] the caller's clock, ms
-- ARGV[3] the lock's channel; a waiter listens to <channel>:<waiter>
-- ARGV[4] the command, or commands, that publish
local lock, queue, deadlines = KEYS[1], KEYS[2], KEYS[3]
local request, now = ARGV[1], tonumber(ARGV[2])

-- R1: the time is taken once. Only deadlines of commands are measured by it: those of waiters are by the clients' clocks.
local parts = redis.call('TIME')
local time = parts[1] * 1000 + math.floor(parts[2] / 1000)

-- First of all, so that a lock name that holds a foreign type fails before anything is written.
local holder = redis.call('HKEYS', lock)[1]

local function holds()
  return holder == request
end

-- Ends the present grant.
local function free()
  redis.call('DEL', lock)
  holder = nil
end

-- Drops the heads whose deadline has passed, with no other deadline touched, and those that have none: an entry without
-- a deadline is what is left when the sorted set was lost, and it would stay for ever. Returns the head that remains.
local function dropStale()
  while true do
    local head = redis.call('LINDEX', queue, 0)
    if not head then
      return nil
    end
    local deadline = tonumber(redis.call('ZSCORE', deadlines, head) or 0)
    if deadline > now then
      return head, deadline
    end
    redis.call('LPOP', queue)
    redis.call('ZREM', deadlines, head)
  end
end

-- Redisson's own step when a waiter is served or leaves: those behind it are expected to be served one wait earlier.
-- `deadline` is that of the waiter if it was the head. Each deadline is reckoned from the one before it, so that the first
-- of the line settles all of them, and Redisson never moves it on. A head that is served or leaves later than expected
-- shows by how much the line is late: the deadlines are moved on by that much, so that the next head, too, has its whole
-- wait time from now on. Where the line is not late, the result is Redisson's.
local function oneWaitLess(behind, wait, deadline)
  local late = deadline and math.max(0, now + wait - deadline) or 0
  for _, waiter in ipairs(behind) do
    redis.call('ZADD', deadlines, 'XX', 'INCR', late - wait, waiter)
  end
end

-- Tells only the head of the queue that it may ask (R4: a message that cannot be sent must not end the script).
local function wake(head)
  if head then
    for command in string.gmatch(ARGV[4], '%a+') do
      redis.pcall(command, ARGV[3] .. ':' .. head, '0')
    end
  end
end

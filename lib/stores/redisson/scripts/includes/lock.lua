-- Every script begins with this include: the keys and arguments of a lock in Redisson's wire format.
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

-- A script reads the time once. Only `holdAtLeast` uses it; deadlines of waiters use the clients' clocks.
local parts = redis.call('TIME')
local time = parts[1] * 1000 + math.floor(parts[2] / 1000)

-- This comes first, so that a lock name with a value of another type fails before any write.
local holder = redis.call('HKEYS', lock)[1]

-- The holder of a lock that is kept (`holdAtLeast`) is this and the request that held it: neither a client nor a thread.
local KEPT = 'kept:'

local function holds()
  return holder == request
end

-- Ends the present grant.
local function free()
  redis.call('DEL', lock)
  holder = nil
end

-- Drops heads whose deadline has passed, and heads without a deadline, which would stay forever after the sorted set was lost.
-- Changes no other deadline. Returns the remaining head.
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

-- When a waiter is served or leaves, Redisson moves the deadlines of those behind one wait time earlier. Each deadline is computed from
-- the one before it, so the first one determines all, and Redisson never moves that one later. A queue whose head is served, leaves or
-- lives on later than expected is late as a whole: its deadlines have to move later by that many ms, so that the next head has its whole wait
-- time from then on. 0: the result is the same as Redisson's. `deadline` is that of the head; nil or false: it had none.
local function lateness(wait, deadline)
  return deadline and math.max(0, now + wait - deadline) or 0
end

-- Wakes only the head of the queue, which then asks (a message that cannot be sent must not end the script).
local function wake(head)
  if head then
    for command in string.gmatch(ARGV[4], '%a+') do
      redis.pcall(command, ARGV[3] .. ':' .. head, '0')
    end
  end
end

-- Who enters the queue, and how long it lives.

local function markAlive(lock, client)
  lock.isNew = redis.call('ZADD', lock.clients, lock.now + WINDOW, client) == 1
  -- Whatever the queue has: one of the two may have been evicted, or made before the clock was set back.
  outlive(lock.clients, 2 * WINDOW)
end

-- The hash lives for as long as the queue.
local function keepQueue(lock)
  if outlive(lock.queue, 2 * WINDOW) then
    outlive(lock.hash, math.max(2 * WINDOW, lock.used > 0 and lock.ends - lock.now or 0))
  end
end

-- Puts a request into the queue: behind all others, unless it is there; or into the place of its ticket, also if a late copy of its first
-- command has put it behind that. Returns its ticket if it was put at the end.
local function enter(lock, client, name, ticket)
  local place = ticket
  if ticket == '' then
    local score = lock.last or redis.call('ZREVRANGE', lock.queue, '0', '0', 'WITHSCORES')[2]
    lock.last = math.max(lock.micros, score and score + 1 or 0)
    place = number(lock.last)
  end
  if not lock.entered then
    lock.entered = true
    -- The clients come first: if something else is kept under that key, nothing has been written yet.
    markAlive(lock, client)
  end
  local isNew = redis.call('ZADD', lock.queue, ticket == '' and 'NX' or 'LT', place, name) == 1
  if lock.isQueueKept == nil then
    keepQueue(lock)
  elseif not lock.isQueueKept then
    redis.call('PEXPIRE', lock.queue, 3 * WINDOW)
  end
  lock.isQueueKept = true
  return isNew and ticket == '' and place or nil
end

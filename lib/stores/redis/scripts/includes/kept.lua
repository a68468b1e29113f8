-- Of a lock that holdAtLeast keeps, no client will say that it is free, and its time ends soon. So the client of the head asks then, and it
-- alone: it knows when by its reply, or by a message.

local function headClient(lock)
  local head = redis.call('ZRANGE', lock.queue, '0', '0')[1]
  return head and string.match(head, '^[^:]+')
end

-- Tells the client of the head when the lock may be free, if that or the head has changed.
local function tellHead(lock, caller)
  if lock.used > 0 and lock.isKept and (lock.ends ~= lock.endedAt or lock.hasLeft or lock.gone > 0) then
    local client = headClient(lock)
    if client and client ~= caller then
      tell(lock, client, 'ask ' .. number(math.max(0, lock.ends - lock.now) + 1) .. ' ' .. lock.hash)
    end
  end
end

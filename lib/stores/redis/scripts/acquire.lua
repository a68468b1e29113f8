-- Takes the lock if it is free and no request waits; otherwise takes a place in its line. Repeating it changes nothing.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] the caller  [2] deadline in Redis ms (R2)  [3] sequence of the request
--       [4] label of a holder  [5] highest token the client has seen
--       [6] to [9] are left out when all have their defaults ('', -1, 0, 'wait'):
--       [6] its fixed lease in ms, '': its lease is renewed, 'alone': so it is, and it joins no batch  [7] most waiters allowed, -1: any number
--       [8] ticket to take back, 0: none  [9] 'try': never queue, or 'wait'
--       the last three: the caller's listener (includes/lock.lua)
-- Returns reply(status, a, b, c):
--       EXPIRED  the deadline has passed; nothing was written
--       GRANTED  the request is in the present grant, since this call or an earlier one
--       DONE     the request was granted and released before (M9)
--       BUSY     a try on a lock that is not free: a = label of the holder, b = held for ms, c = ms for which it is kept, if it is
--       FULL     the line is full: a = its length
--       QUEUED   a = ticket, b = how many requests will be served before it
-- Errors OOM when memory is full, unless the lock can be passed to a waiting request (R3); PROTOCOL or NEWER before any write.
--- include: time
-- A hundred years, ms. Lua writes leases up to this length in full, and much larger numbers with an exponent.
local CENTURY = 3155760000000
local sequence, text, seen = ARGV[3], ARGV[4], ARGV[5]
local mark, maxQueue, ownTicket, mode = '', -1, 0, 'wait'
if #ARGV > 8 then
  mark, maxQueue, ownTicket, mode = unpack(ARGV, 6, 9)
end
local me = client .. ':' .. sequence

-- A short cut with the same result as the code below, for a free lock that no request waits for and a clock ahead of every token.
local state, lastToken, releasedRequest = unpack(redis.call('HMGET', hash, 'state', 'last-token', 'released-request'))
local lease, life = LEASE_TEXT, LEASE_LIFE
if mark ~= '' and mark ~= 'alone' then
  local ms = tonumber(mark)
  lease, life = mark, ms and ms >= 0 and ms <= CENTURY and ms % 1 == 0 and tostring(ms + RETENTION)
end
if not STRICT and life and releasedRequest ~= me
  and (state == 'free' and lastToken and #lastToken == 16 and lastToken < stamp
    or not (state or lastToken) and redis.call('ZCARD', queue) == 0)
  and #ARGV[2] >= 13 and stampMs <= ARGV[2]
  and #seen <= 16 and seen < stamp then
  redis.call('HSET', hash, 'state', 'held', 'holder', client, 'token', stamp, 'last-token', stamp,
    'requests', sequence, 'since', stampMs, 'lease', lease, 'label', text, unpack(state and {} or { 'format', FORMAT }))
  redis.call('PEXPIRE', hash, life)
  return 'GRANTED ' .. stamp .. ' ' .. lease .. ' ' .. sequence
end

--- include: changes
if now > tonumber(ARGV[2]) then
  return reply('EXPIRED')
end
if holds(sequence) then
  return reply('GRANTED')
end
if releasedRequest == me then
  return reply('DONE')
end

lease = (mark == '' or mark == 'alone') and LEASE or whole(mark)
seen, maxQueue, ownTicket = whole(seen), tonumber(maxQueue), whole(ownTicket)
if not (lease and seen and ownTicket and maxQueue) then
  return protocolError('arguments of the command')
end
lastToken = math.max(lastToken, seen)

--- include: primary
local function take()
  grant(client, sequence, 1, lease, text)
  return reply('GRANTED')
end

-- If a lease has ended, settle may have to put requests of its grant back, so the line may not count as empty.
local waiting = redis.call('ZCARD', queue)
local free = not kinds and (not held or leaseEnd <= now)
if free and waiting == 0 and not isRun() and not unconfirmed() and mayGrant() then
  if held then
    -- The lease of the old holder has ended: it gets a new generation (M5).
    redis.call('HDEL', hash, 'client:' .. holder)
  end
  plusQueue = ''
  return take()
end

-- A try on a held lock needs none of the code that passes a free lock on. Where there are several kinds, leases may be over.
if mode == 'try' and not free and not kinds then
  return reply('BUSY', label, now - since, keptFor())
end

--- include: place
free = free or kinds
if not free and maxQueue < 0 then
  enter()
  return queued()
end

--- include: line
--- include: blocker
if free then
  -- The lock can be passed to a waiting request, so the first write must be one that is allowed when memory is full (R3).
  keepHash(lineLife())
end
if mode == 'try' then
  settle()
  if not held and used == 0 and not askAgainAt and mayGrant() then
    -- All waiters were dead.
    return take()
  end
  return reply('BUSY', whoHolds())
end

if not ticket and ownTicket == 0 and maxQueue >= 0 then
  local inRun = free and not kinds and 0 or unserved()
  local isFull
  waiting, isFull = makeRoom(waiting, inRun, maxQueue)
  if isFull then
    return reply('FULL', waiting + inRun)
  end
end
enter()
if free then
  settle()
  if holds(sequence) then
    return reply('GRANTED')
  end
end
return queued()

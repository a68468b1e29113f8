-- Joins the line of a lock, or takes it at once if it is free and nobody waits.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] 'client:sequence' of the request  [2] deadline in Redis ms (R2)  [3] 'lease label': ms of a grant at once, who asks
--       [4] that lease and the retention, ms
--       [5] 'seen fixed ticket mode maxQueue terms': highest token the client has seen, in 16 digits; fixed lease in ms or
--       '-'; ticket to take back or 0; 'try' or 'wait'; most waiters allowed or -1; terms  [6] guard
-- Returns the text 'GRANTED time' where nobody waits, the time in µs being the token, else answer(status, a, b):
--       EXPIRED  the deadline has passed; nothing was written
--       GRANTED  the request is in the present grant, now or already (idempotent)
--       DONE     the request was granted and released before (M9)
--       BUSY     a try on a lock that is not free: a = label of the holder, b = held for ms
--       FULL     the line is full: a = its length
--       QUEUED   a = ticket, b = how many will be served before
-- Errors OOM when memory is full, unless there is somebody to pass the lock to (R3).
--- include: now
local me = ARGV[1]
local expired = stampMs > ARGV[2]
local guard = ARGV[6]

-- The usual case, in as few steps as can be: free, nobody waits, and the clock is ahead of every token.
local alone = form == F or not kept and redis.call('ZCARD', queue) == 0
if alone and not expired and not guard and string.sub(ARGV[5], 1, 16) < stamp then
  local last, done = '', '-'
  if kept then
    last, done = string.match(kept, '^F(%d+) (.*)$')
  end
  -- What Redis refuses as a time to live must not be found out behind the first write.
  local life = tonumber(ARGV[4])
  local legible = last and life and life >= 60000 and life <= 9007199254740991 and life % 1 == 0
  if legible and last < stamp and string.sub(done, -#me) ~= me then
    redis.call('HSET', hash, 'grant', 'H' .. me .. ' ' .. stamp .. ' ' .. done .. ' ' .. ARGV[3])
    redis.call('PEXPIRE', hash, ARGV[4])
    return 'GRANTED ' .. stamp
  end
end

--- include: state
local sequence = string.match(me, '%d+$')
if expired then
  return answer('EXPIRED')
end
if holds(sequence) then
  return answer('GRANTED')
end
if string.sub(done, -#me) == me then
  return answer('DONE')
end

local waiting = redis.call('ZCARD', queue)
local free = not held() or leaseEnd <= now
local seen, fixed, ownTicket, mode, maxQueue, terms = string.match(ARGV[5], '^(%d+) (%S+) (%d+) (%a+) (%S+) (.*)$')
if not terms or #seen > DIGITS or #ownTicket > DIGITS or fixed ~= '-' and not whole(fixed) then
  return protocolError('arguments of the command')
end
seen, ownTicket, maxQueue = tonumber(seen), tonumber(ownTicket), tonumber(maxQueue)
local raised = seen > token
token = math.max(token, seen)

--- include: primary
local take = free and function()
  local duration, text = string.match(ARGV[3], '^(%d+) (.*)$')
  if not whole(duration) or not whole(ARGV[4]) then
    return protocolError('arguments of the command')
  end
  grant(client, sequence, 1, duration, ARGV[4], text)
  return answer('GRANTED')
end

-- A run whose lease ended may have members to put back: then there is somebody, and the long way finds him.
if free and waiting == 0 and not string.find(run, ',', 1, true) and (not guard or mayGrant()) then
  if held() then
    -- Its lease had ended: a new generation (M5).
    redis.call('HDEL', hash, 'c:' .. holder)
  end
  return take()
end

--- include: records
local member = me .. (fixed == '-' and '' or ':' .. fixed)
local ticket = waiting > 0 and tonumber(redis.call('ZSCORE', queue, member) or nil)
local newcomer = not ticket and ownTicket == 0

local function join()
  speak(waiting == 0)
  -- A late copy of the first acquire may have given a lost place a younger ticket: the one that was told counts.
  if not ticket or (ownTicket > 0 and ownTicket < ticket) then
    local last = lastTicket()
    local text
    if ownTicket > 0 then
      ticket, text = ownTicket, int(ownTicket)
    elseif last < micros then
      ticket, text = micros, stamp
    else
      ticket, text = last + 1, int(last + 1)
    end
    crowd()
    redis.call('ZADD', queue, text, member)
    if waiting == 0 then
      local ttl = int(WINDOW + RETENTION)
      redis.call('PEXPIRE', queue, ttl)
      -- They were left to expire with the line before.
      redis.call('PEXPIRE', clients, ttl)
    end
    if ticket > last then
      redis.call('HSET', hash, 'ticket', text)
    end
    if raised then
      write(RETENTION)
    end
  end
end

local function queued()
  local before = newcomer and not free and waiting or redis.call('ZRANK', queue, member) or 0
  return answer('QUEUED', ticket, before + unserved())
end

-- The usual case of a lock that is held: one more in line. The rest is for those who look at others.
local inRun = not free and maxQueue >= 0 and unserved() or 0
local crowded = newcomer and maxQueue >= 0 and waiting + inRun >= maxQueue
if mode == 'wait' and not free and not crowded then
  join()
  return queued()
end

--- include: line
if mode == 'try' then
  if free then
    allow()
    settle()
    if not held() and not askAgainAt and (not guard or mayGrant()) then
      -- Only dead waiters were left.
      return take()
    end
  end
  return answer('BUSY', whoHolds(), heldFor())
end

if crowded then
  prune()
  waiting = redis.call('ZCARD', queue)
  if waiting + inRun >= maxQueue then
    return answer('FULL', waiting + inRun)
  end
end

if free then
  allow()
end
join()
if free then
  settle()
  if holds(sequence) then
    return answer('GRANTED')
  end
end
return queued()

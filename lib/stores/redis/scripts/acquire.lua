-- Joins the line of a lock, or takes it at once if it is free and nobody waits.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] client  [2] sequence  [3] deadline in Redis ms (R2)  [4] lease in ms of a grant at once
--       [5] fixed lease in ms, or ''  [6] ticket to take back, or 0  [7] 'try' or 'wait'
--       [8] most waiters allowed, or -1  [9] highest token the client has seen  [10] label  [11] settings  [12] caller
-- Returns answer(status, a, b):
--       EXPIRED  the deadline has passed; nothing was written
--       GRANTED  the request is in the present grant, now or already (idempotent)
--       DONE     the request was granted and released before (M9)
--       BUSY     a try on a lock that is not free: a = label of the holder, b = held for ms
--       FULL     the line is full: a = its length
--       QUEUED   a = ticket, b = how many will be served before
-- Errors OOM when memory is full, unless there is somebody to pass the lock to (R3).
--- include: state
local sequence, deadline, lease, fixed = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local ownTicket, maxQueue, highest = tonumber(ARGV[6]), tonumber(ARGV[8]), tonumber(ARGV[9])

if now > deadline then
  return answer('EXPIRED')
end
if held() and leaseEnd > now and holder == client and string.find(',' .. run .. ',', ',' .. sequence .. ',', 1, true) then
  return answer('GRANTED')
end
if fields[8] == client .. ':' .. sequence then
  return answer('DONE')
end

local free = not held() or leaseEnd <= now
local waiting = redis.call('ZCARD', queue)
token = math.max(token, highest)

if free and waiting == 0 then
  local former = holder
  grant(client, sequence, 1, lease, ARGV[10])
  if former ~= '' then
    -- Its lease had ended: a new generation (M5).
    redis.call('HDEL', hash, 'c:' .. former)
    record = former ~= client and record
  end
  return answer('GRANTED')
end

local settings, caller = ARGV[11], ARGV[12]
--- include: line

if ARGV[7] == 'try' then
  if free then
    redis.call('PEXPIRE', hash, RETENTION)
    settle()
  end
  local label, since = unpack(redis.call('HMGET', hash, 'label', 'since'))
  return answer('BUSY', held() and label or '', held() and now - tonumber(since) or 0)
end

local member = client .. ':' .. sequence .. (fixed == '' and '' or ':' .. fixed)
local ticket = tonumber(redis.call('ZSCORE', queue, member) or nil)

if not ticket and ownTicket == 0 and maxQueue >= 0 and waiting >= maxQueue then
  redis.call('PEXPIRE', queue, WINDOW + RETENTION)
  prune()
  waiting = redis.call('ZCARD', queue)
  if waiting >= maxQueue then
    return answer('FULL', waiting)
  end
end

if free then
  redis.call('PEXPIRE', hash, RETENTION)
end
speak()
if not ticket then
  local last = tonumber(fields[6] or 0)
  ticket = ownTicket > 0 and ownTicket or math.max(last + 1, micros)
  redis.call('ZADD', queue, ticket, member)
  redis.call('PEXPIRE', queue, WINDOW + RETENTION)
  redis.call('HSET', hash, 'ticket', int(math.max(last, ticket)), 'token', int(token))
  redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + RETENTION)
end
if free then
  settle()
  if held() and holder == client and string.find(',' .. run .. ',', ',' .. sequence .. ',', 1, true) then
    return answer('GRANTED')
  end
end
local _, commas = string.gsub(held() and run or '', ',', '')
return answer('QUEUED', ticket, (redis.call('ZRANK', queue, member) or 0) + commas)

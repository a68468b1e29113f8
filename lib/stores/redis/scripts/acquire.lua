-- Joins the line of a lock, or takes it at once if it is free and nobody waits.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] client  [2] sequence  [3] deadline in Redis ms (R2)  [4] lease in ms of a grant at once
--       [5] the same and the retention  [6] fixed lease in ms, or ''  [7] ticket to take back, or 0  [8] 'try' or 'wait'
--       [9] most waiters allowed, or -1  [10] highest token the client has seen  [11] label  [12] settings  [13] caller
-- Returns { 'GRANTED', time, first token } where nobody waits, else answer(status, a, b):
--       EXPIRED  the deadline has passed; nothing was written
--       GRANTED  the request is in the present grant, now or already (idempotent)
--       DONE     the request was granted and released before (M9)
--       BUSY     a try on a lock that is not free: a = label of the holder, b = held for ms
--       FULL     the line is full: a = its length
--       QUEUED   a = ticket, b = how many will be served before
-- Errors OOM when memory is full, unless there is somebody to pass the lock to (R3).
--- include: state
local sequence = ARGV[2]

if now > tonumber(ARGV[3]) then
  return answer('EXPIRED')
end
if holds(sequence) then
  return answer('GRANTED')
end
if fields[3] and string.match(fields[3], ' (.*)$') == client .. ':' .. sequence then
  return answer('DONE')
end

local free = not held() or leaseEnd <= now
local waiting = redis.call('ZCARD', queue)
token = math.max(token, tonumber(ARGV[10]))

-- A run whose lease ended may have members to put back: then there is somebody, and the long way finds him.
if free and waiting == 0 and not string.find(run, ',', 1, true) then
  local former = holder
  grant(client, sequence, 1, tonumber(ARGV[4]), ARGV[5], ARGV[11])
  if former ~= '' then
    -- Its lease had ended: a new generation (M5).
    redis.call('HDEL', hash, 'c:' .. former)
    return answer('GRANTED')
  end
  return { 'GRANTED', now, first }
end

local fixed, ownTicket, maxQueue = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[9])
local settings, caller = ARGV[12], ARGV[13]
--- include: line

if ARGV[8] == 'try' then
  if free then
    redis.call('PEXPIRE', hash, RETENTION)
    settle()
  end
  return answer('BUSY', held() and label or '', held() and now - since or 0)
end

local member = client .. ':' .. sequence .. (fixed == '' and '' or ':' .. fixed)
local ticket = tonumber(redis.call('ZSCORE', queue, member) or nil)

if not ticket and ownTicket == 0 and maxQueue >= 0 and waiting >= maxQueue then
  keep(queue, WINDOW + RETENTION)
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
-- A late copy of the first acquire may have given a lost place a younger ticket: the one that was told counts.
if not ticket or (ownTicket > 0 and ownTicket < ticket) then
  -- Should the hash have been lost, the queue still knows.
  local last = tonumber(redis.call('HGET', hash, 'ticket') or redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0)
  ticket = ownTicket > 0 and ownTicket or math.max(last + 1, micros)
  redis.call('ZADD', queue, ticket, member)
  keep(queue, WINDOW + RETENTION)
  redis.call('HSET', hash, 'ticket', int(math.max(last, ticket)), 'token', int(token))
  redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + RETENTION)
end
if free then
  settle()
  if holds(sequence) then
    return answer('GRANTED')
  end
end
local _, commas = string.gsub(held() and run or '', ',', '')
return answer('QUEUED', ticket, (redis.call('ZRANK', queue, member) or 0) + commas)

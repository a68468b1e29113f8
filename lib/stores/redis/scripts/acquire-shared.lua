-- Lets a request hold the lock together with others, or gives it a place in the line. Repeating it changes nothing.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] the caller  [2] deadline in Redis ms (R2)  [3] sequence of the request
--       [4] label of a holder  [5] highest token the client has seen
--       [6] its mark (includes/kinds.lua)  [7] most waiters allowed, -1: any number
--       [8] ticket to take back, 0: none  [9] 'try': never queue, or 'wait'
--       [10] to [12] the caller's listener (includes/lock.lua)
-- Returns reply(status, a, b, c), with the statuses of acquire except DONE; GRANTED: the reply lists the request
-- Errors OOM when memory is full, unless the lock can be passed to a waiting request (R3); OLDER, PROTOCOL or NEWER before any write.
--- include: full
--- include: fresh
-- A short cut with the same result as the code below, for a lock whose permits are all taken and that requests wait for already: the
-- request joins the line. The caller was marked alive just now, with the same listener.
local function joinLine()
  local most = tonumber(string.match(ARGV[6], '^p%d+/(%d+)'))
  if not most or ARGV[7] ~= '-1' or ARGV[8] ~= '0' or ARGV[9] ~= 'wait' or #ARGV[2] < 13 or stampMs > ARGV[2] then
    return nil
  end
  local used, limit, firstEnd, lastEnd, own, record, lastToken = readFull()
  if not used or limit ~= most or (tonumber(ARGV[5]) or lastToken + 1) > lastToken
    or string.find(own or '', ',' .. ARGV[3] .. ':', 1, true) then
    return nil
  end
  local generation, server, since = string.match(record or '', '^generation=(%d+) server=(%S+) subscribed=(%d+) suspect=0 ')
  local now, deadline = tonumber(stampMs), tonumber(redis.call('ZSCORE', clients, client) or nil)
  if not generation or not deadline or server ~= ARGV[10] or not isSameTime(now - ARGV[11], since) or not isFresh(deadline - now) then
    return nil
  end
  local ahead = redis.call('ZCARD', queue)
  if ahead == 0 or redis.call('ZADD', queue, 'NX', stamp, client .. ':' .. ARGV[3] .. ':' .. ARGV[6]) == 0 then
    return nil
  end
  redis.call('HSET', hash, 'last-ticket', stamp)
  redis.call('PEXPIRE', hash, int(lastEnd - now + WINDOW + RETENTION))
  return { 'QUEUED', tonumber(stamp), firstEnd - now, '', 0, 0, 0, tonumber(generation), tonumber(stamp), ahead }
end
local joined = joinLine()
if joined then
  return joined
end

--- include: changes
if now > tonumber(ARGV[2]) then
  return reply('EXPIRED')
end
local sequence, mark, maxQueue, ownTicket = ARGV[3], ARGV[6], tonumber(ARGV[7]), whole(ARGV[8])
local waiting = redis.call('ZCARD', queue)

-- Processes of an earlier version do not read the format of several kinds, so it does not begin while one of them holds the lock or
-- waits for it. The ids of clients that read it begin with `2-`.
local function isOlder(name)
  return string.sub(name, 1, 2) ~= '2-'
end
if not kinds then
  local older = held and leaseEnd > now and holder ~= KEPT and isOlder(holder)
  for _, name in ipairs(waiting > 0 and redis.call('ZRANGEBYSCORE', clients, stampMs, '+inf') or {}) do
    older = older or isOlder(name)
  end
  if older then
    return redis.error_reply('OLDER ' .. KINDS)
  end
  kinds = true
end

--- include: line
--- include: blocker
local kind = kindOf(mark)
if not (kind and maxQueue and ownTicket and whole(ARGV[5])) then
  return protocolError('arguments of the command')
end
lastToken = math.max(lastToken, whole(ARGV[5]))
if waiting > 0 or held and leaseEnd <= now or used > 0 and firstEnd <= now then
  -- The lock may be passed to a waiting request, so the first write must be one that is allowed when memory is full (R3).
  keepHash()
  settle()
  kinds, waiting = true, redis.call('ZCARD', queue)
end
if listShares(sequence) then
  return reply('GRANTED')
end
-- A request that finds no line joins it before it is judged, so its own limit counts; that of a try in vain does not.
local limitBefore = limit
limit = waiting == 0 and kind.limit or limit
if waiting == 0 and admits(kind) and mayGrant() then
  admit(client, sequence, kind, ARGV[4])
  recordGains(LEASE)
  recordKinds()
  return reply('GRANTED')
end
limit = limitBefore
if ARGV[9] == 'try' then
  return reply('BUSY', whoHolds())
end

--- include: place
if not ticket and ownTicket == 0 and maxQueue >= 0 then
  local inRun = unserved()
  local isFull
  waiting, isFull = makeRoom(waiting, inRun, maxQueue)
  if isFull then
    return reply('FULL', waiting + inRun)
  end
end
-- Who is last in a line that was judged just now waits, unless its limit lets the head in.
local decided = waiting > 0 and not ticket and ownTicket == 0 and (kind.limit or limit) == limit
if enter() and kind.limit then
  limit = kind.limit
  set('limit', int(limit))
end
if not decided then
  settle()
  if listShares(sequence) then
    return reply('GRANTED')
  end
end
return queued()

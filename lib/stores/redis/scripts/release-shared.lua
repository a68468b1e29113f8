-- Shared requests are over for their client: takes them out wherever they are, in the line or among those that hold the lock, and passes
-- the lock on. Repeating it changes nothing; carries no deadline (R2).
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] the caller  [2] the requests, each with its mark (includes/kinds.lua), '' if the caller does not know it: '4:r 5:p1/3 6:'
--       [3] for how many ms, counted from the grant, the weight is kept; 0: not
--       [4] 'waiting' if the caller has other requests in line and is to be marked alive, else 'idle'
--       [5] to [7], if [4] is 'waiting': the caller's listener (includes/lock.lua)
-- Returns reply('LEFT', a, b, c, d) as leave, for the first request that was in line
-- Errors PROTOCOL or NEWER before any write.
--- include: full
-- A short cut with the same result as the code below, for a lock whose permits are all taken before and after: one request is over,
-- and the head of the line, whose client is live and not suspect, gets its permits.
local function passOn()
  local sequence, mark = string.match(ARGV[2], '^(%d+):(%S*)$')
  if STRICT or not sequence or ARGV[3] ~= '0' or ARGV[4] ~= 'idle' then
    return nil
  end
  local used, limit, firstEnd, lastEnd, own, record = readFull()
  local from = own and string.find(own, ',' .. sequence .. ':', 1, true)
  if not from then
    return nil
  end
  local weight, ownEnd, to = string.match(own, '^,%d+:(%d+):%d*:%d+:(k?%d*)()', from)
  local head, behind = unpack(redis.call('ZRANGE', queue, '0', '1'))
  local name, next, ask, most = string.match(head or '', '^([^:]+):(%d+):p(%d+)/(%d+)$')
  if string.sub(ownEnd, 1, 1) == 'k' or not behind or not name or tonumber(most) ~= limit
    or used - weight <= 0 or used - weight + ask ~= limit
    or redis.call('ZSCORE', queue, client .. ':' .. sequence .. (mark == '' and '' or ':' .. mark)) then
    return nil
  end
  local theirs, gained = unpack(redis.call('HMGET', hash, 'client:' .. name, 'held:' .. name))
  local server, where = string.match(theirs or '', '^generation=%d+ server=(%S+) subscribed=%d+ suspect=0 .* where=(%S*)$')
  local deadline = server and server ~= '-' and redis.call('ZSCORE', clients, name)
  local channel = string.match(hash, '^[^{]*') .. 'client:' .. name
  if not deadline or #deadline ~= 13 or deadline < stampMs or (redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0) == 0 then
    return nil
  end

  local isLast = string.sub(own, from - 1, from - 1) == '=' and string.sub(own, to, to) == ' '
  own = not isLast and string.sub(own, 1, from - 1) .. string.sub(own, to)
  if name == client then
    gained = own
  end
  local now = tonumber(stampMs)
  local ends, entries, about = now + FIRST_LEASE_TEXT, '', where
  if gained then
    local before, start = string.match(gained, '^end=(%d+) requests=()')
    local rest = string.find(gained, ' label=', 1, true)
    ends, entries, about = math.max(tonumber(before), ends), string.sub(gained, start, rest - 1), string.sub(gained, rest + 7)
    about = about == '' and where or about
  end
  firstEnd, lastEnd = math.min(firstEnd, ends), math.max(lastEnd, ends)
  -- The first write is one that is allowed when memory is full (R3).
  redis.call('ZREMRANGEBYRANK', queue, '0', '0')
  redis.call('HSET', hash, 'used', int(limit), 'first-end', int(firstEnd), 'last-end', int(lastEnd), 'since', stampMs, 'label', where,
    'last-token', stamp, 'held:' .. name, 'end=' .. int(ends) .. ' requests=' .. entries
      .. ',' .. next .. ':' .. ask .. ':' .. most .. ':' .. stamp .. ': label=' .. about)
  redis.call('PEXPIRE', hash, int(lastEnd - now + WINDOW + RETENTION))
  local generation = tonumber(string.match(record or '', '^generation=(%d+)')) or 0
  local gain, left, wake = next .. ':' .. stamp, ends - now, firstEnd - now
  if name == client then
    return { 'LEFT', tonumber(stamp), wake, gain, 0, left, 0, generation, where, 0, -1 }
  end
  if own then
    redis.call('HSET', hash, 'held:' .. client, own)
  else
    redis.call('HDEL', hash, 'held:' .. client)
  end
  redis.pcall('PUBLISH', channel, 'shared ' .. stamp .. ' ' .. int(left) .. ' ' .. gain .. ' ' .. hash)
  return { 'LEFT', tonumber(stamp), wake, '', 0, 0, 0, generation, where, 0, -1 }
end
local passed = passOn()
if passed then
  return passed
end

--- include: line
local rank, before = nil, unserved()
-- The first write is one that is allowed when memory is full (R3).
keepHash()
for sequence, mark in string.gmatch(ARGV[2], '(%d+):(%S*)') do
  -- The hold of a request may have been put back in line, or the server may have gone back to a time before it.
  local member = memberOf(sequence, mark)
  local place = redis.call('ZRANK', queue, member)
  if place then
    redis.call('ZREM', queue, member)
    rank = rank or place
  end
  if kinds then
    endShare(client, sequence, whole(ARGV[3]) or 0)
  end
end
if ARGV[4] == 'waiting' then
  markAlive()
end
settle()
leaveToExpire()
--- include: blocker
local who, heldFor, keptFor = whoHolds()
return reply('LEFT', who, heldFor, rank and rank + before or -1, keptFor)

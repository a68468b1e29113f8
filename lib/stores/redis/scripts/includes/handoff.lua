-- Handing the lock to a request in line.
--- include: changes

-- A client's record is one field, since its removal is what makes a new generation (M5). It reads
--   generation=<µs> server=<run id> subscribed=<ms> suspect=<µs> window=<ms> reads=<format> where=<host/pid>
-- server: where its subscription is, '-' if unknown; subscribed: since when; suspect: since when nothing listens to its channel,
-- 0 if it is not suspect; reads: the newest format that it reads.
local function recordOf(name)
  if name == client and record ~= nil then
    return record
  end
  return redis.call('HGET', hash, 'client:' .. name)
end

local function valueOf(text, name)
  return text and string.match(text, name .. '=(%S*)')
end

-- How many connections listen to a client's channel; nil where that cannot be asked.
local function listeners(name)
  local answer = redis.pcall('PUBSUB', 'NUMSUB', CHANNEL .. name)
  return type(answer) == 'table' and not answer.err and tonumber(answer[2]) or nil
end

-- Which client an entry of the queue belongs to; '' if it cannot be read, so that it counts as dead.
local function nameOf(member)
  return string.match(member, '^([^:]+):%d+:?%d*$') or ''
end

-- At most so many requests of one client, next to each other in line, are granted together.
local MAX_RUN = 64

-- What is known of the clients of an empty line is not kept for long.
local function leaveToExpire()
  if redis.call('ZCARD', queue) == 0 then
    redis.call('PEXPIRE', clients, REST)
  end
end

-- Grants the free lock to the request `head` at `rank` of the queue, and to those behind it of the same client. `behind` is the
-- entry behind it, `text` the client's record.
local function give(name, rank, head, behind, text)
  local sequences, fixed = string.match(head, '^[^:]+:(%d+):?(%d*)$')
  -- The first lease is short: a waiter that died just now blocks for a window at most; its first renewal makes the lease whole.
  local lease = math.min(WINDOW, LEASE, tonumber(fixed) or LONGEST)
  local count, tickets = 1, nil
  if fixed == '' and behind and string.match(behind, '^([^:]+):%d+$') == name then
    local members = redis.call('ZRANGE', queue, rank, rank + MAX_RUN - 1, 'WITHSCORES')
    tickets = members[2]
    for i = 3, #members, 2 do
      local owner, sequence = string.match(members[i], '^([^:]+):(%d+)$')
      if owner ~= name then
        break
      end
      count = count + 1
      sequences = sequences .. ',' .. sequence
      tickets = tickets .. ',' .. members[i + 1]
    end
  end
  redis.call('ZREMRANGEBYRANK', queue, rank, rank + count - 1)
  grant(name, sequences, count, lease, valueOf(text, 'where') or '')
  if tickets then
    set('tickets', tickets, 'served', 0)
  end
  if not behind or tickets then
    leaveToExpire()
  end
  if name ~= client then
    local channel = CHANNEL .. name
    outbox[#outbox + 1] = { channel, 'granted ' .. stamp .. ' ' .. lease .. ' ' .. token .. ' ' .. sequences .. ' ' .. hash }
  end
end

-- The usual case: gives the free lock to the head of the line if its client is live and not suspect. Returns whether it did.
local function passToHead()
  local head, behind = unpack(redis.call('ZRANGE', queue, 0, 1))
  local name = head and nameOf(head)
  local text = name and recordOf(name)
  local server, suspect = string.match(text or '', 'server=(%S+) subscribed=%d+ suspect=(%d+)')
  local deadline = suspect == '0' and tonumber(redis.call('ZSCORE', clients, name) or nil)
  local live = deadline and deadline >= now and (server == '-' or (listeners(name) or 0) > 0)
  if live then
    give(name, 0, head, behind, text)
  end
  return live
end

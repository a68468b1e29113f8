-- The waiting clients: what is kept of each, and how the caller is marked alive (R5, R7).
--- include: changes

-- A value of another type at this key is an error here, before any write.
redis.call('ZCARD', clients)

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

-- Records removed when a new one is made, so that they do not pile up on a lock that is never at rest: at most so many of clients
-- silent for long, and about so many of those that the set no longer has because it has expired.
local STALE = 16
local ORPHANS = 64
-- At least so many fields of the hash are not records: those that every grant writes.
local FIELDS = 9
-- A deadline with more than this share of the window left is not set again, unless the window is longer than what the keys of a
-- line are kept for in any case.
local FRESH = 0.9
-- How long a subscription that broke may take to come back, ms; the same as in timing.ts.
local GRACE = 250

local callerWasInTouch = false

-- The keys of the line outlive the latest deadline of any client, whatever the caller's own window is.
local function keepLine()
  local latest = tonumber(redis.call('ZREVRANGE', clients, 0, 0, 'WITHSCORES')[2]) or now
  local ttl = math.max(WINDOW, math.min(latest - now, LONGEST)) + RETENTION
  redis.call('PEXPIRE', queue, ttl)
  redis.call('PEXPIRE', clients, ttl)
end

-- The last ticket given (µs). Should the hash have been lost, the queue still knows.
local function lastTicket()
  return tonumber(redis.call('HGET', hash, 'last-ticket') or redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2]) or 0
end

-- What is known of the clients of an empty line is not kept for long.
local function leaveToExpire()
  if redis.call('ZCARD', queue) == 0 then
    redis.call('PEXPIRE', clients, REST)
  end
end

local function writeRecord(name, text)
  set('client:' .. name, text)
  if name == client then
    record = text
  end
  return text
end

-- The same record with another number, and with whatever a newer version keeps in it.
local function change(name, text, value, number)
  return writeRecord(name, (string.gsub(text, value .. '=%d+', value .. '=' .. int(number))))
end

-- A record that is gone is a new generation (M5): the client's waiters re-enter when it next calls.
local function forget(name)
  redis.call('HDEL', hash, 'client:' .. name)
  if name == client then
    record = false
  end
end

-- R7: when all waiting clients are overdue at once, the server was away: one more window for all, once.
local graceUntil
local function inGrace()
  if not graceUntil then
    graceUntil = whole(redis.call('HGET', hash, 'grace-until')) or 0
    local newest = 0
    local latest = redis.call('ZREVRANGE', clients, 0, 1, 'WITHSCORES')
    for i = 1, #latest, 2 do
      if latest[i] ~= client then
        newest = math.max(newest, tonumber(latest[i + 1]))
      end
    end
    -- A deadline beyond the last grace means that a client called since it was given.
    if not callerWasInTouch and newest < now and newest > graceUntil then
      graceUntil = now + WINDOW
      set('grace-until', graceUntil)
      keepHash(WINDOW + RETENTION)
    end
  end
  return now <= graceUntil
end

-- Removes records of clients that are gone.
local function sweep()
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)) do
    redis.call('HDEL', hash, 'client:' .. name)
    redis.call('ZREM', clients, name)
  end
  local size = redis.call('HLEN', hash)
  if size > FIELDS + redis.call('ZCARD', clients) then
    -- Records of clients that the set no longer has; in a large hash those from a random place on.
    local from = size > ORPHANS and time[2] or 0
    local found = redis.call('HSCAN', hash, from, 'MATCH', 'client:*', 'COUNT', ORPHANS)[2]
    for i = 1, #found, 2 do
      local name = string.sub(found[i], 8)
      if not (held and name == holder) and name ~= client and not redis.call('ZSCORE', clients, name) then
        redis.call('HDEL', hash, found[i])
      end
    end
  end
end

-- R5: marks the caller alive. `wholly`: for a whole window from now, where a fresh deadline would do.
local function markAlive(wholly)
  local deadline = tonumber(redis.call('ZSCORE', clients, client) or nil)
  callerWasInTouch = deadline and deadline >= now
  if deadline and not callerWasInTouch then
    inGrace()
  end
  local generation = valueOf(record, 'generation')
  local known = generation and deadline
  if not known then
    generation = stamp
    sweep()
  end
  local server, subscribedFor, where = unpack(ARGV, #ARGV - 2)
  local subscribed = now - tonumber(subscribedFor)
  local same = known and valueOf(record, 'server') == server and valueOf(record, 'suspect') == '0'
    and math.abs(subscribed - (tonumber(valueOf(record, 'subscribed')) or 0)) <= GRACE / 2
  if not same then
    writeRecord(client, 'generation=' .. generation .. ' server=' .. server .. ' subscribed=' .. int(subscribed)
      .. ' suspect=0 window=' .. int(WINDOW) .. ' reads=' .. FORMAT .. ' where=' .. where)
    keepHash(WINDOW + RETENTION)
  end
  local left = known and deadline - now or 0
  if wholly or left < FRESH * WINDOW or left > WINDOW or WINDOW > RETENTION then
    redis.call('ZADD', clients, now + WINDOW, client)
    keepLine()
  end
end

-- Puts entries, each a ticket and a member, into the queue, which had `before` of them and of which `last` is the last ticket then.
-- Returns how many were added. Nothing else adds to the queue, so that `state` promises an empty one only where it is.
local function enqueue(entries, last, before)
  local added = redis.call('ZADD', queue, unpack(entries))
  if before == 0 then
    -- The clients were left to expire with the line before.
    keepLine()
  end
  set('state', (state or 'free') .. '+queue', 'last-ticket', last, 'last-token', lastToken)
  keepHash(WINDOW + RETENTION)
  return added
end

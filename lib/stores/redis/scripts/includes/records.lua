-- The waiting clients: what is kept of each, and how one is marked alive (R5, R7).
--
-- The script that includes this sets, before it is included:
-- terms: 'first firstTtl heard heardFor where window grace maxRun rest', times in ms. first is the first lease of a grant that
--        is passed on, firstTtl the same and the retention; heard is the run id of the server that the caller's commands
--        go to and that carries its subscription ('-' if that is not so), heardFor for how many ms; where is host/pid; rest is
--        how long a released lock that nobody waits for is kept
local FIRST, FIRST_TTL, HEARD, heardForMs, WHERE, WINDOW, GRACE, MAX_RUN, REST =
  string.match(terms, '^(%d+) (%d+) (%S+) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+)$')
WINDOW, GRACE = tonumber(WINDOW), tonumber(GRACE)
-- What a record tells of the caller itself. Clients may have different windows.
local OWNER = WHERE .. ' ' .. WINDOW

-- Stale records removed when a new one is made, so that records do not pile up on a lock that is never at rest.
local STALE = 16

local callerSpoke, callerWasInTouch = false, false

-- A TTL for one of the sorted sets, if it is one: a value of somebody else is not touched.
local function keep(key, ttl)
  local size = redis.pcall('ZCARD', key)
  if type(size) == 'number' and size > 0 then
    redis.call('PEXPIRE', key, ttl)
  end
end

-- Before somebody gets in line: the grant says it, so that from then on all commands look at the queue.
local function crowd()
  if form == F or form == H then
    redis.call('HSET', hash, 'grant', (form == F and 'V' or 'W') .. string.sub(kept, 2))
  end
end

-- The last ticket given (µs). Should the hash have been lost, the queue still knows.
local function lastTicket()
  return tonumber(redis.call('HGET', hash, 'ticket') or redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0)
end

-- A client's record: server that carries its subscription, since when doubted (µs, as tickets; 0: not), since when it is
-- subscribed (ms), generation, owner: 'host/pid window'.
local function parse(text)
  if not text then
    return nil
  end
  local heard, doubt, since, generation, owner = string.match(text, '^(%S+) (%d+) (%d+) (%d+) (.*)$')
  return tonumber(generation), heard, tonumber(since), tonumber(doubt), owner
end

local function recordOf(name)
  if name == client then
    return readRecord()
  end
  return redis.call('HGET', hash, 'c:' .. name)
end

local function note(name, generation, heard, since, doubt, owner)
  local text = heard .. ' ' .. int(doubt) .. ' ' .. int(since) .. ' ' .. int(generation) .. ' ' .. owner
  redis.call('HSET', hash, 'c:' .. name, text)
  if name == client then
    record = text
  end
end

-- A record that is gone is a new generation (M5): the client's waiters re-enter when it next speaks.
local function forget(name)
  redis.call('HDEL', hash, 'c:' .. name)
  if name == client then
    record = false
  end
end

-- R7: when all waiting clients are overdue at once, the server was away: one more window for all, once.
local graceUntil
local function inGrace()
  if not graceUntil then
    graceUntil = tonumber(redis.call('HGET', hash, 'grace') or 0)
    local newest = 0
    local latest = redis.call('ZREVRANGE', clients, 0, 1, 'WITHSCORES')
    for i = 1, #latest, 2 do
      if latest[i] ~= client then
        newest = math.max(newest, tonumber(latest[i + 1]))
      end
    end
    -- A deadline beyond the last grace means that somebody spoke since it was given.
    if not callerWasInTouch and newest < now and newest > graceUntil then
      graceUntil = now + WINDOW
      redis.call('HSET', hash, 'grace', graceUntil)
      redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
    end
  end
  return now <= graceUntil
end

-- R5: marks the caller alive.
local function speak()
  local since = now - tonumber(heardForMs)
  local deadline = redis.call('ZSCORE', clients, client)
  callerSpoke = true
  callerWasInTouch = deadline and tonumber(deadline) >= now
  if deadline and not callerWasInTouch then
    inGrace()
  end
  local generation, heardBefore, sinceBefore, doubt = parse(readRecord())
  local known = generation and deadline
  if not known then
    generation = micros
    local stale = redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)
    for _, name in ipairs(stale) do
      redis.call('HDEL', hash, 'c:' .. name)
      redis.call('ZREM', clients, name)
    end
    note(client, generation, HEARD, since, 0, OWNER)
    redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
  elseif HEARD ~= heardBefore or doubt ~= 0 or math.abs(since - sinceBefore) > GRACE / 2 then
    note(client, generation, HEARD, since, 0, OWNER)
  end
  redis.call('ZADD', clients, now + WINDOW, client)
  if not known then
    -- The sweep above may have emptied the set, so that this made it anew.
    redis.call('PEXPIRE', clients, WINDOW + RETENTION)
  end
end

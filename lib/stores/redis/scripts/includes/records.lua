-- The waiting clients: what is kept of each, and how one is marked alive (R5, R7).
--
-- The script that includes this sets, before it is included:
-- terms: 'first firstTtl heard heardFor where window grace maxRun rest', times in ms. first is the first lease of a grant that
--        is passed on, firstTtl the same and the retention; heard is the run id of the server that the caller's commands
--        go to and that carries its subscription ('-' if that is not so), heardFor for how many ms; where is host/pid; rest is
--        how long a released lock that nobody waits for is kept
local FIRST, FIRST_TTL, HEARD, heardForMs, WHERE, WINDOW, GRACE, MAX_RUN, REST =
  string.match(terms, '^(%d+) (%d+) (%S+) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+)$')
if not REST or #FIRST_TTL > DIGITS or #WINDOW > DIGITS or #REST > DIGITS then
  return protocolError('arguments of the command')
end
WINDOW, GRACE = tonumber(WINDOW), tonumber(GRACE)
-- What a record tells of the caller itself. Clients may have different windows.
local OWNER = WHERE .. ' ' .. WINDOW

-- Stale records removed when a new one is made, so that records do not pile up on a lock that is never at rest: those of
-- clients silent for long, and where the line begins anew those whose clients have expired with the set.
local STALE = 16
local ORPHANS = 64
-- Fields of the hash that are not records.
local FIELDS = 5

-- A deadline that has more than this share of the window left is not set again, unless the window is longer than what the keys of
-- a line are kept for in any case.
local FRESH = 0.9

local callerSpoke, callerWasInTouch = false, false

-- A TTL for one of the sorted sets, if it is one: a value of somebody else is not touched.
local function keep(key, ttl)
  local size = redis.pcall('ZCARD', key)
  if type(size) == 'number' and size > 0 then
    redis.call('PEXPIRE', key, ttl)
  end
end

-- The keys of the line outlive the latest deadline of any client, whatever the caller's own window is.
local function keepLine()
  local latest = redis.call('ZREVRANGE', clients, '0', '0', 'WITHSCORES')[2] or stampMs
  local ttl = math.max(WINDOW, math.min(latest - now, LONGEST)) + RETENTION
  keep(queue, ttl)
  keep(clients, ttl)
end

-- Before somebody gets in line: the grant says it, so that from then on all commands look at the queue.
local function crowd()
  if form == F or form == H then
    redis.call('HSET', hash, 'grant', (form == F and 'V' or 'W') .. string.sub(kept, 2))
  end
end

-- The last ticket given (µs). Should the hash have been lost, the queue still knows.
local function lastTicket()
  return tonumber(redis.call('HGET', hash, 'ticket') or redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2]) or 0
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
    graceUntil = whole(redis.call('HGET', hash, 'grace')) or 0
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
      redis.call('PEXPIRE', hash, lifetime(WINDOW + RETENTION))
    end
  end
  return now <= graceUntil
end

-- R5: marks the caller alive. `begins`: the line was empty, and the caller sets the times to live of its keys when it no longer
-- is; `wholly`: for a whole window from now, where a fresh deadline would do.
local function speak(begins, wholly)
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
    local size = begins and redis.pcall('HLEN', hash)
    if type(size) == 'number' and size > FIELDS + redis.call('ZCARD', clients) then
      -- From a random place on: records of clients that the set no longer has.
      local found = redis.pcall('HSCAN', hash, time[2], 'MATCH', 'c:*', 'COUNT', ORPHANS)[2] or {}
      for i = 1, #found, 2 do
        local name = string.sub(found[i], 3)
        if name ~= holder and name ~= client and not redis.call('ZSCORE', clients, name) then
          redis.call('HDEL', hash, 'c:' .. name)
        end
      end
    end
    note(client, generation, HEARD, since, 0, OWNER)
    redis.call('PEXPIRE', hash, lifetime(WINDOW + RETENTION))
  elseif HEARD ~= heardBefore or doubt ~= 0 or math.abs(since - sinceBefore) > GRACE / 2 then
    note(client, generation, HEARD, since, 0, OWNER)
  end
  local left = known and deadline - now or 0
  if wholly or left < FRESH * WINDOW or left > WINDOW or WINDOW > RETENTION then
    redis.call('ZADD', clients, now + WINDOW, client)
    if not begins then
      keepLine()
    end
  end
end

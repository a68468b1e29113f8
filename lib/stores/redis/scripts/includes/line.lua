-- The line: who is live, who is next, and the handing over (settle, pass; R5 to R8).
--
-- The script that includes this sets, before it is included:
-- settings: 'window lease grace maxRun rest channelPrefix', times in ms; rest is how long a released lock that nobody
--           waits for is kept
-- caller:   what the caller tells of itself: 'heard heardFor where'; heard is the run id of the server that carries its
--           subscription as it knows it ('-' if none), heardFor for how many ms, where is host/pid
local WINDOW, LEASE, GRACE, MAX_RUN, REST, CHANNEL = string.match(settings, '^(%d+) (%d+) (%d+) (%d+) (%d+) (.*)$')
WINDOW, LEASE, GRACE, MAX_RUN = tonumber(WINDOW), tonumber(LEASE), tonumber(GRACE), tonumber(MAX_RUN)

-- R8: at most so many entries are looked at in one call.
local SWEEP = 1000
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

-- A client's record: generation, server that carries its subscription, since when (ms), since when
-- doubted (µs, as tickets; 0: not), host/pid.
local function parse(text)
  if not text then
    return nil
  end
  local generation, heard, since, doubt, where = string.match(text, '^(%d+) (%S+) (%d+) (%d+) (.*)$')
  return tonumber(generation), heard, tonumber(since), tonumber(doubt), where
end

local function recordOf(name)
  if name == client then
    return readRecord()
  end
  return redis.call('HGET', hash, 'c:' .. name)
end

local function write(name, generation, heard, since, doubt, where)
  local text = int(generation) .. ' ' .. heard .. ' ' .. int(since) .. ' ' .. int(doubt) .. ' ' .. where
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
    end
  end
  return now <= graceUntil
end

-- R5: marks the caller alive.
local function speak()
  local heard, heardFor, where = string.match(caller, '^(%S+) (%d+) (.*)$')
  local since = now - tonumber(heardFor)
  local deadline = redis.call('ZSCORE', clients, client)
  callerSpoke = true
  callerWasInTouch = deadline and tonumber(deadline) >= now
  if deadline and not callerWasInTouch then
    inGrace()
  end
  local generation, heardBefore, sinceBefore, doubt = parse(readRecord())
  if not generation or not deadline then
    generation = micros
    local stale = redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)
    for _, name in ipairs(stale) do
      redis.call('HDEL', hash, 'c:' .. name)
      redis.call('ZREM', clients, name)
    end
    write(client, generation, heard, since, 0, where)
    redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
  elseif heard ~= heardBefore or doubt ~= 0 or math.abs(since - sinceBefore) > GRACE / 2 then
    write(client, generation, heard, since, 0, where)
  end
  redis.call('ZADD', clients, now + WINDOW, client)
  keep(clients, WINDOW + RETENTION)
end

-- How many connections listen to a client's channel; nil where that cannot be asked.
local function listeners(name)
  local reply = redis.pcall('PUBSUB', 'NUMSUB', CHANNEL .. name)
  if type(reply) ~= 'table' or reply.err then
    return nil
  end
  return tonumber(reply[2])
end

local serverId
local function isThisServer(id)
  if serverId == nil then
    local info = redis.pcall('INFO', 'server')
    serverId = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or false
  end
  return serverId == id
end

local LIVE, DOUBTFUL, DEAD = 1, 2, 3

-- The verdict on a waiting client, since when (live: its subscription; doubtful: the doubt), and when it last spoke.
local function judge(name)
  local deadline = redis.call('ZSCORE', clients, name)
  if not deadline then
    -- Its entry was lost (evicted): a new window and a new generation.
    redis.call('ZADD', clients, now + WINDOW, name)
    keep(clients, WINDOW + RETENTION)
    forget(name)
    return LIVE, now
  end
  deadline = tonumber(deadline)
  if deadline == 0 or (deadline < now and not inGrace()) then
    return DEAD
  end
  local generation, heard, since, doubt, where = parse(recordOf(name))
  if not generation or heard == '-' then
    -- Nothing is known of its subscription, which may just be coming back.
    return LIVE, now
  end
  local count = listeners(name)
  if count == nil or count > 0 or not isThisServer(heard) then
    if doubt ~= 0 then
      write(name, generation, heard, since, 0, where)
    end
    return LIVE, since
  end
  if callerSpoke and name == client then
    -- Whoever speaks this moment is alive (R5); that nobody listens to it is told it in the answer.
    return LIVE, now
  end
  if doubt == 0 then
    doubt = micros
    write(name, generation, heard, since, doubt, where)
  end
  if micros - doubt >= GRACE * 1000 then
    return DEAD
  end
  return DOUBTFUL, doubt, deadline - WINDOW
end

-- R8: out of the line, with its record; what it still has further back is known for dead by a deadline of 0.
local function drop(members)
  if #members == 0 then
    return
  end
  redis.call('ZREM', queue, unpack(members))
  local seen = {}
  for _, member in ipairs(members) do
    local name = string.match(member, '^[^:]+')
    if not seen[name] then
      seen[name] = true
      forget(name)
      redis.call('ZADD', clients, 'XX', 0, name)
    end
  end
end

-- Hands the lock to the run of `name` that begins at `rank` of the queue (its first members are known).
local function give(name, rank, known)
  local _, _, sequence, fixed = string.find(known[1], '^[^:]+:(%d+):?(%d*)$')
  local ids, count, lease, places = { sequence }, 1, LEASE, nil
  if fixed ~= '' then
    lease = tonumber(fixed)
  elseif known[2] and string.match(known[2], '^([^:]+):%d+$') == name then
    local members = redis.call('ZRANGE', queue, rank, rank + MAX_RUN - 1, 'WITHSCORES')
    places = members[2] .. ' ' .. members[1]
    for i = 3, #members, 2 do
      local owner, id = string.match(members[i], '^([^:]+):(%d+)$')
      if owner ~= name then
        break
      end
      count = count + 1
      ids[count] = id
      places = places .. ' ' .. members[i + 1] .. ' ' .. members[i]
    end
  end
  redis.call('ZREMRANGEBYRANK', queue, rank, rank + count - 1)
  local _, _, _, _, where = parse(recordOf(name))
  -- The first lease is short: a waiter that died just now blocks for a window at most; its renewal makes it whole.
  lease = math.min(WINDOW, lease)
  grant(name, table.concat(ids, ','), count, lease, lease + RETENTION, where or '')
  if places then
    redis.call('HSET', hash, 'places', int(first) .. ' ' .. places)
  end
  if redis.call('ZCARD', queue) == 0 then
    keep(clients, REST)
  end
  if name ~= client then
    local left = leaseEnd - now
    outbox[#outbox + 1] = {
      CHANNEL .. name,
      'G ' .. now .. ' ' .. left .. ' ' .. int(first) .. ' ' .. run .. ' ' .. hash
    }
  end
end

-- Walks the line from its head, drops the dead (R8), and calls `visit(verdict, rank, known)` for each of the others until
-- that returns true. A verdict has name, verdict, since and spoke as `judge` says; `known` is the member at `rank` and the
-- one behind it.
local function walk(visit)
  local verdicts = {}
  local rank, looked, chunk = 0, 0, 2
  while looked < SWEEP do
    local members = redis.call('ZRANGE', queue, rank, rank + chunk - 1)
    local dead = {}
    for i, member in ipairs(members) do
      local name = string.match(member, '^[^:]+')
      if not verdicts[name] then
        local verdict, since, spoke = judge(name)
        verdicts[name] = { name = name, verdict = verdict, since = since, spoke = spoke }
      end
      if verdicts[name].verdict == DEAD then
        dead[#dead + 1] = member
      else
        drop(dead)
        dead = {}
        local behind = members[i + 1] or redis.call('ZRANGE', queue, rank + 1, rank + 1)[1]
        if visit(verdicts[name], rank, { member, behind }) then
          return
        end
        rank = rank + 1
      end
    end
    drop(dead)
    looked = looked + #members
    if #members < chunk then
      return
    end
    chunk = 100
  end
  -- There is more to look at: the caller goes on.
  askAgainAt = now
end

-- Gives the free lock to the lowest ticket whose client is live (R6).
local function pass()
  local doubted, spoke
  walk(function(seen, rank, known)
    if seen.verdict == DOUBTFUL then
      doubted = math.min(doubted or seen.since, seen.since)
      spoke = math.min(spoke or seen.spoke, seen.spoke)
      askAgainAt = math.ceil(doubted / 1000) + GRACE
      return false
    end
    if doubted then
      -- Somebody ahead cannot be heard. He is passed over only by one who was in line before the doubt arose, and whose
      -- own subscription has been up since before he last spoke, or for longer than the grace: else all subscriptions
      -- may just be coming back, and order is kept.
      local late = tonumber(redis.call('ZSCORE', queue, known[1])) >= doubted
      if late or (seen.since >= spoke and now - seen.since < GRACE) then
        return true
      end
    end
    askAgainAt = nil
    give(seen.name, rank, known)
    return true
  end)
end

-- Drops dead waiters wherever they stand in the first part of the line.
local function prune()
  walk(function() return false end)
end

-- Puts members of the present run for whom `unserved(sequence)` is true back into their places in line.
local function putBack(unserved)
  local named, places = string.match(redis.call('HGET', hash, 'places') or '', '^(%d+) (.*)$')
  if named ~= int(first) then
    return
  end
  for ticket, member, sequence in string.gmatch(places, '(%d+) ([^: ]+:(%d+))') do
    if unserved(sequence) then
      redis.call('ZADD', queue, ticket, member)
    end
  end
  keep(queue, WINDOW + RETENTION)
end

-- Who of a run is inside is known to its client alone: all but the first go back to their places, and those that were
-- served are handed on when their turn comes.
local function putBackAllButFirst()
  local head = string.match(run, '^%d+')
  putBack(function(sequence)
    return sequence ~= head
  end)
end

-- The grant is over, though nobody released it: a new generation for its client (M5).
local function vacate()
  forget(holder)
  holder = ''
  redis.call('HSET', hash, 'grant', '')
end

-- The lease has ended. If its client is surely alive (the clock was set, its renewals were lost), the others of its run
-- are still waiting and keep their places; if that is not sure they must re-enter (M7).
local function lapse()
  if string.find(run, ',', 1, true) then
    local _, heard = parse(recordOf(holder))
    if heard and heard ~= '-' and isThisServer(heard) and (listeners(holder) or 0) > 0 then
      putBackAllButFirst()
    end
  end
  vacate()
end

-- settle, for scripts that may be late to notice: a lease that has ended is over, and a free lock is passed on,
-- and what nobody needs any more is left to expire.
local function settle()
  if held() and leaseEnd <= now then
    lapse()
  end
  if held() then
    return
  end
  if redis.call('ZCARD', queue) > 0 then
    pass()
  end
  if not held() and redis.call('ZCARD', queue) == 0 then
    redis.call('PEXPIRE', hash, rest(REST))
    keep(clients, REST)
  end
end

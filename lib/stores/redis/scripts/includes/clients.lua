-- The waiting clients: the record of each, and how a script marks its caller alive (R5, R7).
--- include: changes
--- include: fresh

-- If the key has a value of another type, this fails before any write.
redis.call('ZCARD', clients)

-- A client's record is a single field, so that removing it starts a new generation (M5). Its text:
--   generation=<µs> server=<run id> subscribed=<ms> suspect=<µs> window=<ms> reads=<format> where=<host/pid>
-- server: the run id of the server with its subscription, '-' if unknown; subscribed: since when; suspect: since when no
-- connection listens to its channel, 0 if it is not suspect; window: its liveness window; reads: the newest format that it reads.
local function recordOf(name)
  if name == client and record ~= nil then
    return record
  end
  return redis.call('HGET', hash, 'client:' .. name)
end

local function valueOf(text, name)
  return text and string.match(text, name .. '=(%S*)')
end

-- How many connections listen to a client's channel; nil if the server refuses PUBSUB.
local function listeners(name)
  local answer = redis.pcall('PUBSUB', 'NUMSUB', CHANNEL .. name)
  return type(answer) == 'table' and not answer.err and tonumber(answer[2]) or nil
end

-- The client of an entry of the queue; '' if the entry cannot be read, so that it counts as dead.
local MEMBER = kinds and '^([^:]+):%d+:?[%w/,]*$' or '^([^:]+):%d+:?%d*$'
local function nameOf(member)
  return string.match(member, MEMBER) or ''
end

-- Each new record removes old ones, so that they do not pile up on a lock that is never idle: at most STALE records of clients that
-- have been silent for long, and about ORPHANS records of clients that are missing in the set because it has expired.
local STALE = 16
local ORPHANS = 64
-- The hash has at least this many fields that are not records: those that every grant writes.
local FIELDS = 9

-- The caller's deadline from before this call marked it alive; nil: the call has not done so.
local callerDeadline

-- How long Redis keeps the data of the line (ms): until after the latest deadline of any client, even if the caller's window is shorter.
local function lineLife()
  local latest = tonumber(redis.call('ZREVRANGE', clients, 0, 0, 'WITHSCORES')[2]) or now
  return math.max(WINDOW, math.min(latest - now, LONGEST)) + RETENTION
end

local function keepLine()
  local ttl = lineLife()
  redis.call('PEXPIRE', queue, ttl)
  redis.call('PEXPIRE', clients, ttl)
end

-- The last ticket given (µs). If the hash was lost, it comes from the queue.
local function lastTicket()
  return tonumber(redis.call('HGET', hash, 'last-ticket') or redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2]) or 0
end

-- If the line is empty, lets the set of clients expire soon.
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

-- Replaces one number in a record and leaves the rest as it is, since a newer version may keep more values there.
local function change(name, text, value, number)
  return writeRecord(name, (string.gsub(text, value .. '=%d+', value .. '=' .. int(number))))
end

-- Removes a record and thereby starts a new generation (M5): the client's requests re-enter when it next calls.
local function forget(name)
  redis.call('HDEL', hash, 'client:' .. name)
  if name == client then
    record = false
  end
end

-- Whether a client with this deadline has called within two heartbeats. `text` is its record.
local function isInTouch(deadline, text)
  return deadline - now >= (tonumber(valueOf(text, 'window')) or WINDOW) / 3
end

-- If all waiting clients have been silent for two heartbeats, the server was away (R7), and all get one more window, once.
local graceUntil
local function inGrace()
  if not graceUntil then
    graceUntil = whole(redis.call('HGET', hash, 'grace-until')) or 0
    local newest, inTouch = 0, callerDeadline and isInTouch(callerDeadline, record)
    local latest = redis.call('ZREVRANGE', clients, 0, 1, 'WITHSCORES')
    for i = 1, #latest, 2 do
      local deadline = latest[i] == client and callerDeadline or tonumber(latest[i + 1])
      newest = math.max(newest, deadline)
      inTouch = inTouch or isInTouch(deadline, recordOf(latest[i]))
    end
    -- Such a deadline means that a client has called since that grace was given, or gave it with its call: the server was away again.
    if not inTouch and newest > 0 and newest >= graceUntil then
      graceUntil = now + WINDOW
      set('grace-until', graceUntil)
      keepHash(WINDOW + RETENTION)
    end
  end
  return now <= graceUntil
end

local serverId
local function isThisServer(id)
  if serverId == nil then
    local info = redis.pcall('INFO', 'server')
    serverId = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or false
  end
  return serverId == id
end

-- Whether the server was away, as far as a client can tell that has not waited yet: the last to call has not done so for two
-- heartbeats, and then to another server. Dead clients that wait alone have called this one.
local function wasAway()
  local latest = redis.call('ZREVRANGE', clients, 0, 0, 'WITHSCORES')
  if not latest[1] or tonumber(latest[2]) - now >= WINDOW / 3 then
    return false
  end
  local server = valueOf(recordOf(latest[1]), 'server')
  return server and server ~= '-' and not isThisServer(server)
end

-- Removes records of clients that are gone.
local function sweep()
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)) do
    redis.call('HDEL', hash, 'client:' .. name)
    redis.call('ZREM', clients, name)
  end
  local size = redis.call('HLEN', hash)
  if size > FIELDS + redis.call('ZCARD', clients) then
    -- Look for records of clients that are missing in the set; in a large hash, begin at a random place.
    local from = size > ORPHANS and time[2] or 0
    local found = redis.call('HSCAN', hash, from, 'MATCH', 'client:*', 'COUNT', ORPHANS)[2]
    for i = 1, #found, 2 do
      local name = string.sub(found[i], 8)
      local isHolder = held and name == holder or kinds and redis.call('HGET', hash, 'held:' .. name)
      if not isHolder and name ~= client and not redis.call('ZSCORE', clients, name) then
        redis.call('HDEL', hash, found[i])
      end
    end
  end
end

-- Marks the caller alive (R5). `wholly`: sets a deadline of a whole window from now, even if the present one is fresh.
local function markAlive(wholly)
  local deadline = tonumber(redis.call('ZSCORE', clients, client) or nil)
  callerDeadline = deadline or 0
  if deadline and not isInTouch(deadline, record) or not deadline and wasAway() then
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
    and isSameTime(subscribed, tonumber(valueOf(record, 'subscribed')) or 0)
  if not same then
    writeRecord(client, 'generation=' .. generation .. ' server=' .. server .. ' subscribed=' .. int(subscribed)
      .. ' suspect=0 window=' .. int(WINDOW) .. ' reads=' .. KINDS .. ' where=' .. where)
    keepHash(WINDOW + RETENTION)
  end
  local left = known and deadline - now or 0
  if wholly or not isFresh(left) then
    redis.call('ZADD', clients, now + WINDOW, client)
    keepLine()
  end
end

-- Adds entries (ticket, member, …) to the queue, which has had `before` entries; `last` is the last ticket given, including these.
-- Returns how many were added. Only this function adds to the queue, and it writes `+queue` or `+kinds`: so a `state` without it means
-- that the queue is empty.
local function enqueue(entries, last, before)
  local added = redis.call('ZADD', queue, unpack(entries))
  if before == 0 then
    -- When the line became empty, leaveToExpire gave the set of clients a short time to live.
    keepLine()
  end
  if kinds then
    format = KINDS
  end
  set('state', (state or 'free') .. (kinds and '+kinds' or '+queue'), 'last-ticket', last, 'last-token', lastToken)
  keepHash(WINDOW + RETENTION)
  return added
end

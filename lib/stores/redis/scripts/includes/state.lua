-- What every script knows: the time, the grant, and how to answer.
--
-- KEYS[1] the hash: present grant, last token, last ticket, last released grant, a record for each waiting client
-- KEYS[2] the queue: ticket -> member; a member is client:sequence, or client:sequence:lease for a fixed lease
-- KEYS[3] the clients: liveness deadline in ms -> client
-- ARGV[1] the calling client
local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local client = ARGV[1]

-- An unreleased grant outlives its lease by this (ms), so that a crashed holder can be named.
local RETENTION = 60000

-- R1: the time is taken once.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local micros = time[1] * 1000000 + time[2]

-- Lua's own conversion writes large numbers as 1.7952544115099e+15.
local function int(number)
  return string.format('%.0f', number)
end

-- The present grant in one field: client, first token, run (sequences of its requests), since, lease end (ms), label.
-- Times in ms have 13 digits, which Lua's own conversion writes in full; tokens and tickets need int().
local fields = redis.call('HMGET', hash, 'grant', 'token', 'done')
local holder, first, run, since, leaseEnd, label = '', 0, '', 0, 0, ''
if fields[1] and fields[1] ~= '' then
  holder, first, run, since, leaseEnd, label = string.match(fields[1], '^(%S+) (%d+) (%S+) (%d+) (%d+) (.*)$')
  first, since, leaseEnd = tonumber(first), tonumber(since), tonumber(leaseEnd)
end
local token = tonumber(fields[2] or 0)

local function held()
  return holder ~= ''
end

-- Whether the caller's request `sequence` is in the present grant.
local function holds(sequence)
  return holder == client and leaseEnd > now
    and string.find(',' .. run .. ',', ',' .. sequence .. ',', 1, true) ~= nil
end

-- For how many ms the hash of a released lock that nobody waits for is kept: at least until the clock has passed the last
-- token, so that tokens rise also when the clock was set back.
local function rest(usual)
  if token > micros then
    return math.ceil((token - micros) / 1000) + usual
  end
  return usual
end

local function pack(firstText)
  return holder .. ' ' .. firstText .. ' ' .. run .. ' ' .. since .. ' ' .. leaseEnd .. ' ' .. label
end

-- Makes `name` the holder. One token for each request of the run, in order. `ttl` is lease and retention.
local function grant(name, ids, count, lease, ttl, text)
  first = math.max(token, micros - 1) + 1
  token = first + count - 1
  holder, run, since, leaseEnd, label = name, ids, now, now + lease, text
  local firstText = int(first)
  redis.call('HSET', hash, 'grant', pack(firstText), 'token', count == 1 and firstText or int(token))
  redis.call('PEXPIRE', hash, ttl)
end

-- Messages leave with the reply, after all writes (R4).
local outbox = {}

-- When it is worth asking again although the lock is free and somebody waits: a time in ms, or nil.
local askAgainAt

-- The caller's record (see line.lua): text, false if it has none, nil before it was read.
local record

local function readRecord()
  if record == nil then
    record = redis.call('HGET', hash, 'c:' .. client)
  end
  return record
end

-- The answer to the caller (where nobody waits, acquire and release give a shorter one): status, time, generation of the caller (0: none), ms until asking again makes sense
-- (-1: never by itself), 1 if the lock is free and whoever hears this has to ask then (else 0), and the caller's own present grant: its run ('' if it has none), first token, lease left (M1).
local function answer(status, a, b, c)
  for _, message in ipairs(outbox) do
    redis.pcall('PUBLISH', message[1], message[2])
  end
  local wake = -1
  local owed = askAgainAt and 1 or 0
  if askAgainAt then
    wake = math.max(0, askAgainAt - now)
  elseif held() then
    wake = math.max(0, leaseEnd - now)
  end
  local text = readRecord()
  local generation = text and tonumber(string.match(text, '^%d+')) or 0
  if holder == client and leaseEnd > now then
    return { status, now, generation, wake, owed, run, first, leaseEnd - now, a, b, c }
  end
  return { status, now, generation, wake, owed, '', 0, 0, a, b, c }
end

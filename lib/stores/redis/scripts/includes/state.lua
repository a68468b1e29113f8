-- The grant in its parts, and how to change it and to answer.
--- include: now
local micros = tonumber(stamp)
local now = math.floor(micros / 1000)

-- An unreleased grant outlives its lease by this (ms), so that a crashed holder can be named.
local RETENTION = 60000

-- What a script cannot read it does not touch: an error that says so, before any write.
local function protocolError(what)
  return redis.error_reply('PROTOCOL this version cannot read the ' .. what)
end

-- A whole number of text that Redis and Lua both keep exact, ms or µs; nil if it is none.
local LONGEST = 2 ^ 53 - 1
local function whole(text)
  local number = tonumber(text)
  return number and number >= 0 and number <= LONGEST and number % 1 == 0 and number or nil
end

-- The calling client; ARGV[1] is its id alone, or with the sequence of a request behind it.
local client = string.match(ARGV[1], '^[^:]+')

-- Tokens, times and lease are kept as text, except for `token`, the last token given, and `leaseEnd` in ms.
local holder, run, first, since, from, token, done, lease, label = '', '', '0', '0', '0', '0', '-', '0', ''
if kept and form ~= F and form ~= V and form ~= H and form ~= W and form ~= R then
  token = nil
elseif form == F or form == V then
  token, done = string.match(kept, '^.(%d+) (.*)$')
elseif form == H or form == W then
  holder, run, first, done, lease, label = string.match(kept, '^.([^:]+):(%d+) (%d+) (%S+) (%d+) (.*)$')
  since, from, token = first, first, first
elseif form == R then
  holder, run, first, since, from, token, done, lease, label =
    string.match(kept, '^R([^:]+):(%S+) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (.*)$')
end
-- No time, token or lease has more digits than this; numbers beyond are no longer exact in Lua, nor times to live for Redis.
local DIGITS = 16
local unreadable = kept and not (token and lease and #token <= DIGITS and #from <= DIGITS and #lease <= DIGITS)
if unreadable then
  if not clears then
    return protocolError('hash ' .. hash)
  end
  holder, run, first, since, from, token, done, lease, label = '', '', '0', '0', '0', '0', '-', '0', ''
end
token = tonumber(token)
local leaseEnd = math.floor(from / 1000) + lease

-- Lua's own conversion writes large numbers as 1.7952544115099e+15.
local function int(number)
  return string.format('%.0f', number)
end

local function held()
  return holder ~= ''
end

-- How many requests of the present grant still wait for their turn, as far as its client has said; how many had it before the
-- one that has it now.
local function unserved()
  local _, others = string.gsub(run, ',', '')
  if others == 0 then
    return 0, 0
  end
  local named, turns = string.match(redis.call('HGET', hash, 'turn') or '', '^(%d+) (%d+)$')
  local served = named == first and math.min(tonumber(turns), others) or 0
  return others - served, served
end

-- For how many ms the present holder has had it.
local function heldFor()
  return held() and now - math.floor(since / 1000) or 0
end

-- Whether the caller's request `sequence` is in the present grant.
local function holds(sequence)
  return holder == client and leaseEnd > now
    and string.find(',' .. run .. ',', ',' .. sequence .. ',', 1, true) ~= nil
end

-- The time to live (ms) of a hash that is to be kept for `spare` ms longer than it is needed: a grant needs it until its lease
-- ends, and the last token until the clock has passed it, so that tokens rise also when the clock was set back. Every time to
-- live of the hash comes from here, except where the lease begins with the same command: none may shorten what a lease needs.
local function lifetime(spare)
  local needed = held() and leaseEnd > now and leaseEnd - now or 0
  if token > micros then
    needed = math.max(needed, math.ceil((token - micros) / 1000))
  end
  return needed + spare
end

-- R3: all but acquire begin with a write that is allowed when memory is full.
local wrote = false
local function allow()
  if not wrote then
    wrote = true
    redis.call('PEXPIRE', hash, lifetime(RETENTION))
  end
end

-- A lock that became free is kept at the end, and only if nobody got it by then.
local vacated, spare = false, RETENTION

local function write(ms)
  if held() then
    redis.call('HSET', hash, 'grant', 'R' .. holder .. ':' .. run .. ' ' .. first .. ' ' .. since .. ' ' .. from .. ' '
      .. int(token) .. ' ' .. done .. ' ' .. lease .. ' ' .. label)
  else
    redis.call('HSET', hash, 'grant', 'V' .. int(token) .. ' ' .. done)
  end
  redis.call('PEXPIRE', hash, lifetime(ms))
end

-- Makes `name` the holder. One token for each request of the run, in order. `ms` is lease and retention.
local function grant(name, ids, count, duration, ms, text)
  local byClock = token < micros
  first = byClock and stamp or int(token + 1)
  token = first + count - 1
  holder, run, since, from, lease, label = name, ids, stamp, stamp, duration, text
  leaseEnd = now + lease
  vacated = false
  if byClock and count == 1 then
    redis.call('HSET', hash, 'grant', 'W' .. name .. ':' .. ids .. ' ' .. stamp .. ' ' .. done .. ' ' .. lease .. ' ' .. text)
    redis.call('PEXPIRE', hash, ms)
  else
    write(RETENTION)
  end
end

-- Messages leave with the reply, after all writes (R4).
local outbox = {}

local function finish()
  if vacated then
    allow()
    write(spare)
  end
  for _, message in ipairs(outbox) do
    redis.pcall('PUBLISH', message[1], message[2])
  end
end

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

-- The answer to the caller: status, time in µs, generation of the caller (0: none), ms until asking again makes sense
-- (-1: never by itself), 1 if the lock is free and whoever hears this has to ask then (else 0), and the caller's own present
-- grant: its run ('' if it has none), first token, lease left (M1). Where acquire and release have nothing else to tell
-- they give a shorter one, a text.
local function answer(status, a, b, c)
  finish()
  local wake = -1
  local owed = askAgainAt and 1 or 0
  if askAgainAt then
    wake = math.max(0, askAgainAt - now)
  elseif held() then
    wake = math.max(0, leaseEnd - now)
  end
  local text = readRecord()
  local generation = text and tonumber(string.match(text, '^%S+ %d+ %d+ (%d+)')) or 0
  if holder == client and leaseEnd > now then
    return { status, micros, generation, wake, owed, run, tonumber(first), leaseEnd - now, a, b, c }
  end
  return { status, micros, generation, wake, owed, '', 0, 0, a, b, c }
end

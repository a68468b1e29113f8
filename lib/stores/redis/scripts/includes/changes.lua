-- How the present grant changes, and the reply.
--- include: grant
-- Names of channels and of the marker of strict mode begin with this: a prefix has no braces.
local PREFIX = string.match(hash, '^[^{]*')
local CHANNEL, marker = PREFIX .. 'client:', PREFIX .. 'primary'

-- Lua's own conversion writes large numbers as 1.7952544115099e+15.
local function int(number)
  return string.format('%.0f', number)
end

-- Every write of the hash says in which format it is.
local function set(...)
  return redis.call('HSET', hash, 'format', FORMAT, ...)
end

-- The time to live (ms) of a hash that is to be kept for `spare` ms longer than it is needed: a grant needs it until its lease
-- ends, and the last token until the clock has passed it, so that tokens rise also when the clock was set back. Every time to
-- live of the hash comes from here, so that none is shorter than what a lease needs.
local function lifetime(spare)
  local needed = held and leaseEnd > now and leaseEnd - now or 0
  if lastToken > micros then
    needed = math.max(needed, math.ceil((lastToken - micros) / 1000))
  end
  return needed + spare
end

-- R4: each write of the hash is followed by its time to live. R3: all scripts but acquire begin with this write, too, since it is
-- allowed when memory is full.
local function keepHash(spare)
  redis.call('PEXPIRE', hash, lifetime(spare or RETENTION))
end

-- What is kept of the grant that this script ended: fields and values.
local ended = {}

-- Makes `name` the holder, for `lease` ms. One token for each request of the run, in order: the first is by the clock, unless
-- that is behind.
local function grant(name, sequences, count, lease, text)
  token = lastToken < micros and stamp or int(lastToken + 1)
  lastToken = token + count - 1
  holder, requests, since, leaseEnd, label, held = name, sequences, now, math.min(now + lease, LONGEST), text, true
  set('state', 'held' .. plusQueue, 'holder', name, 'token', token, 'last-token', count == 1 and token or lastToken, 'requests', sequences,
    'since', stampMs, 'lease', leaseEnd - since, 'label', text, unpack(ended))
  keepHash()
end

-- Keeps a lock that nothing holds any more.
local function keepFree(spare)
  held = false
  keepHash(spare)
  if state == 'held' then
    set('state', 'free' .. plusQueue, 'last-token', lastToken, unpack(ended))
  end
end

-- Messages are sent after all writes (R4).
local outbox = {}
-- When asking again makes sense although the lock is free and requests wait: a time in ms, or nil.
local askAgainAt

-- The reply of every script: status; time in µs; ms until asking again makes sense (-1: never by itself); of the caller's own present
-- grant its requests ('' if it has none), first token, and ms left of its lease (M1); 1 if the lock is free and the caller has to ask
-- then (else 0); generation of the caller (0: it has none, -1: not read). Then the details that the script's header names. A short cut
-- gives the first of these as one text with spaces, which costs the server less; where it ends, there is nothing else to say.
local function reply(status, ...)
  for _, message in ipairs(outbox) do
    redis.pcall('PUBLISH', message[1], message[2])
  end
  local wakeAt = askAgainAt or held and leaseEnd
  local wake = wakeAt and math.max(0, wakeAt - now) or -1
  local generation = record == nil and -1 or record and tonumber(string.match(record, '^generation=(%d+)')) or 0
  local own, first, left = '', 0, 0
  if held and holder == client and leaseEnd > now then
    own, first, left = requests, tonumber(token), leaseEnd - now
  end
  return { status, micros, wake, own, first, left, askAgainAt and 1 or 0, generation, ... }
end

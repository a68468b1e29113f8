-- Functions that change the present grant, and the reply of every script.
--- include: grant
--- include: numbers
-- The key prefix, with which the names of channels and of the marker of strict mode begin. A prefix contains no braces.
local PREFIX = string.match(hash, '^[^{]*')
local CHANNEL, marker = PREFIX .. 'client:', PREFIX .. 'primary'

-- Writes fields of the hash, always together with the version of the format.
local function set(...)
  return redis.call('HSET', hash, 'format', format or FORMAT, ...)
end

-- The time to live (ms) of the hash: `spare` ms longer than a grant or the last token needs it. A grant needs the hash until its
-- lease ends. The last token needs it until the clock has passed that token, so that tokens rise even if the clock was set back.
-- All times to live of the hash except those of the short cuts come from here, so none is shorter than a lease.
local function lifetime(spare)
  local leases = held and leaseEnd or used > 0 and lastEnd or now
  local needed = math.max(0, leases - now)
  if lastToken > micros then
    needed = math.max(needed, math.ceil((lastToken - micros) / 1000))
  end
  return needed + spare
end

-- Each write of the hash is followed by this one (R4). Scripts that must work when memory is full also begin with it, since Redis
-- allows it then (R3).
local function keepHash(spare)
  redis.call('PEXPIRE', hash, lifetime(spare or RETENTION))
end

-- Fields and values that record the grant that this script ended.
local ended = {}

-- Makes `name` the holder, for `lease` ms. Each request of the batch gets a token, in order. The first token is the time in µs,
-- or one more than the last token if the clock is behind that.
local function grant(name, sequences, count, lease, text)
  token = lastToken < micros and stamp or int(lastToken + 1)
  lastToken = token + count - 1
  holder, requests, since, leaseEnd, label, held = name, sequences, now, math.min(now + lease, LONGEST), text, true
  state = 'held'
  set('state', 'held' .. plusQueue, 'holder', name, 'token', token, 'last-token', count == 1 and token or lastToken, 'requests', sequences,
    'since', stampMs, 'lease', leaseEnd - since, 'label', text, unpack(ended))
  keepHash()
end

-- Keeps the hash of a lock that is free now.
local function keepFree(spare)
  held = false
  keepHash(spare)
  if state == 'held' then
    state = 'free'
    set('state', 'free' .. plusQueue, 'last-token', lastToken, unpack(ended))
  end
end

-- Messages are sent after all writes (R4).
local outbox = {}
-- If the lock stays free although requests wait: when a client should call again (ms). Else nil.
local askAgainAt
-- Shared holds of the caller that the reply lists, and the ms left of those whose lease is renewed.
local listed, listedLeft

-- Sends the messages and builds the reply of every script. Its values, in order:
--   status
--   time in µs
--   ms until the caller should call again (-1: no such time)
--   of the caller's own present grant: its requests ('' if it has none), first token, ms left of its lease (M1); of its shared holds:
--   `sequence:number` of each, with `:ms` left if its lease is fixed, 0, ms left of the others
--   1 if the lock is free and the caller must call again at that time, else 0
--   generation of the caller (0: it has none, -1: not read)
--   the details that the script's header names
-- A short cut returns only the first values, as one text with spaces between them, which costs the server less.
local function reply(status, ...)
  for _, message in ipairs(outbox) do
    redis.pcall('PUBLISH', message[1], message[2])
  end
  local wakeAt = askAgainAt or held and leaseEnd or used > 0 and firstEnd
  local wake = wakeAt and math.max(0, wakeAt - now) or -1
  local generation = record == nil and -1 or record and tonumber(string.match(record, '^generation=(%d+)')) or 0
  local own, first, left = '', 0, 0
  if held and holder == client and leaseEnd > now then
    own, first, left = requests, tonumber(token), leaseEnd - now
  elseif listed then
    own, left = listed, listedLeft
  end
  return { status, micros, wake, own, first, left, askAgainAt and 1 or 0, generation, ... }
end

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

local fields = redis.call(
  'HMGET', hash, 'holder', 'first', 'run', 'end', 'token', 'ticket', 'done', 'doneid', 'c:' .. client
)
local holder = fields[1] or ''
local first = tonumber(fields[2] or 0)
local run = fields[3] or ''
local leaseEnd = tonumber(fields[4] or 0)
local token = tonumber(fields[5] or 0)
local record = fields[9]

local function held()
  return holder ~= ''
end

-- Makes `name` the holder; lease and label are of the new grant. One token for each request of the run, in order.
local function grant(name, ids, count, lease, label)
  first = math.max(token, micros - 1) + 1
  token = first + count - 1
  holder, run, leaseEnd = name, ids, now + lease
  redis.call(
    'HSET', hash, 'holder', name, 'first', int(first), 'run', ids, 'since', now, 'end', leaseEnd,
    'token', int(token), 'label', label
  )
  redis.call('PEXPIRE', hash, lease + RETENTION)
end

-- Messages leave with the reply, after all writes (R4).
local outbox = {}

-- When it is worth asking again although nobody was granted: a time in ms, or nil.
local askAgainAt

-- The answer to the caller: status, time, generation of the caller (0: none), ms until asking again makes sense
-- (-1: never by itself), and the caller's own present grant: its run ('' if it has none), first token, lease left (M1).
local function answer(status, a, b, c)
  for _, message in ipairs(outbox) do
    redis.pcall('PUBLISH', message[1], message[2])
  end
  local wake = -1
  if askAgainAt then
    wake = math.max(0, askAgainAt - now)
  elseif held() then
    wake = math.max(0, leaseEnd - now)
  end
  local generation = record and tonumber(string.match(record, '^%d+')) or 0
  if held() and holder == client and leaseEnd > now then
    return { status, now, generation, wake, run, first, leaseEnd - now, a, b, c }
  end
  return { status, now, generation, wake, '', 0, 0, a, b, c }
end

-- Puts several new requests of one client into the line of a lock at once, next to each other, and passes the lock on if it
-- is free: what acquire would do for them one by one.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] client  [2] sequence of the first; the others follow without a gap  [3] how many  [4] deadline in Redis ms (R2)
--       [5] highest token the client has seen  [6] terms  [7] guard
-- Returns answer(status, a, b):
--       EXPIRED  the deadline has passed; nothing was written
--       QUEUED   a = ticket of the first, the others follow without a gap; b = how many will be served before the first
--       KNOWN    some were in line or granted before (the command was repeated): each has to ask for itself
-- Errors OOM when memory is full, unless there is somebody to pass the lock to (R3).
--- include: state
local sequence, count = tonumber(ARGV[2]), tonumber(ARGV[3])
if now > tonumber(ARGV[4]) then
  return answer('EXPIRED')
end

local terms, guard = ARGV[6], ARGV[7]
--- include: line
local waiting = redis.call('ZCARD', queue)
local free = not held() or leaseEnd <= now
if free and waiting > 0 then
  allow()
end
speak(waiting == 0)

local ticket = math.max(lastTicket() + 1, micros)
local entries = {}
crowd()
for i = 0, count - 1 do
  if not holds(sequence + i) then
    entries[#entries + 1] = int(ticket + i)
    entries[#entries + 1] = client .. ':' .. sequence + i
  end
end
local added = #entries > 0 and redis.call('ZADD', queue, 'NX', unpack(entries)) or 0
if waiting == 0 and added > 0 then
  local ttl = int(WINDOW + RETENTION)
  redis.call('PEXPIRE', queue, ttl)
  -- They were left to expire with the line before.
  redis.call('PEXPIRE', clients, ttl)
end
redis.call('HSET', hash, 'ticket', int(ticket + count - 1))

local seen = tonumber(ARGV[5])
if seen > token then
  token = seen
  write(RETENTION)
end
local before = waiting + unserved()
if free then
  settle()
end
return answer(added == count and 'QUEUED' or 'KNOWN', ticket, before)

-- Puts several new requests of one client into the line of a lock, next to each other, and passes the lock on if it is free.
-- It does in one call what acquire would do for each of them.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] the caller  [2] deadline in Redis ms (R2)  [3] sequence of the first request; the others follow without a gap
--       [4] how many  [5] highest token the client has seen  [6] to [8] the caller's listener (includes/lock.lua)
-- Returns reply(status, a, b):
--       EXPIRED  the deadline has passed; nothing was written
--       QUEUED   a = ticket of the first, the others follow without a gap; b = how many will be served before the first
--       KNOWN    some were already in line or granted (the command was repeated): the client sends an acquire for each
-- Errors OOM when memory is full, unless the lock can be passed to a waiting request (R3); PROTOCOL or NEWER before any write.
--- include: changes
if now > tonumber(ARGV[2]) then
  return reply('EXPIRED')
end
local sequence, count, seen = whole(ARGV[3]), whole(ARGV[4]), whole(ARGV[5])
if not (sequence and count and seen) then
  return protocolError('arguments of the command')
end

--- include: line
local waiting = redis.call('ZCARD', queue)
local before = waiting + unserved()
local free = not held or leaseEnd <= now
if kinds or free and waiting > 0 then
  keepHash()
end
markAlive()

local ticket = math.max(lastTicket() + 1, micros)
local entries = { 'NX' }
for i = 0, count - 1 do
  if not holds(sequence + i) then
    entries[#entries + 1] = ticket + i
    entries[#entries + 1] = client .. ':' .. int(sequence + i)
  end
end
lastToken = math.max(lastToken, seen)
local added = #entries > 1 and enqueue(entries, ticket + count - 1, waiting) or 0
if free or kinds then
  settle()
end
return reply(added == count and 'QUEUED' or 'KNOWN', ticket, before)

-- A client sends this once per heartbeat for each lock: it renews the client's grant, marks the client alive in line, and
-- passes the lock on if it is free.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] the caller  [2] deadline in Redis ms (R2)  [3] first token of the grant to renew, or 0;
--       'shared' renews the caller's shared holds
--       [4] its fixed lease, counted from the grant, or '': its lease ends LEASE ms from now; it never ends earlier than before
--       [5] label of the holder  [6] how many requests of the grant had their turn before the present one
--       [7] 'waiting' or 'idle'  [8] sequence of the caller's request that waits longest, or ''  [9] its mark (memberOf)
--       [10] a message to send to the caller, or ''  [11] and [12] as [8] and [9], of its request that waits shortest
--       [13] to [15] the caller's listener (includes/lock.lua)
-- Returns reply(status, a); a = how many connections of this server listen to the caller's channel, -1 if unknown:
--       EXPIRED  the deadline has passed; nothing was written
--       RENEWED  the grant [3] is still the present one and was renewed, or the caller has shared holds
--       GONE     it is not, or [3] is 0
--       Of a lock of several kinds, the reply lists all shared holds of the caller.
-- Errors PROTOCOL or NEWER before any write.
--- include: changes
if now > tonumber(ARGV[2]) then
  return reply('EXPIRED')
end
local lease = ARGV[4] == '' and LEASE or whole(ARGV[4])
if not lease then
  return protocolError('arguments of the command')
end

--- include: clients
--- include: primary
keepHash(WINDOW + RETENTION)
local shares = kinds and redis.call('HGET', hash, 'held:' .. client) or ''
local function isMissing(sequence, mark)
  return sequence ~= '' and not redis.call('ZSCORE', queue, memberOf(sequence, mark)) and not holds(sequence)
    and not string.find(shares, ',' .. sequence .. ':', 1, true)
end
if ARGV[7] == 'waiting' then
  if isMissing(ARGV[8], ARGV[9]) or isMissing(ARGV[11], ARGV[12]) then
    -- The queue was lost (evicted), or its last entries (older data, behind a connection that stayed open). A new generation makes
    -- all requests of this client re-enter (M5).
    forget(client)
  end
  markAlive(true)
end

local status = 'GONE'
if held and holder == client and token == ARGV[3] and leaseEnd > now then
  status = 'RENEWED'
  leaseEnd = math.max(leaseEnd, math.min((ARGV[4] == '' and now or since) + lease, LONGEST))
  set('lease', leaseEnd - since, 'label', ARGV[5], 'served', ARGV[6])
  keepHash(WINDOW + RETENTION)
else
--- include: line
  if kinds and ARGV[3] == 'shared' and renewShares(ARGV[5]) then
    status = 'RENEWED'
  end
  settle()
  if listShares then
    listShares()
  end
end
if ARGV[10] ~= '' then
  outbox[#outbox + 1] = { CHANNEL .. client, ARGV[10] }
end
return reply(status, listeners(client) or -1)

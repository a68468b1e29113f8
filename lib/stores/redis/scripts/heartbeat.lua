-- One call a lock, client and heartbeat: renews what the client holds, marks it alive in line, and passes on a lock that is free.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] to [8] the caller (includes/lock.lua)  [9] deadline in Redis ms (R2)  [10] first token of the grant to renew, or 0
--       [11] its fixed lease, counted from the grant, or '': its lease ends [6] ms from now; it never ends earlier than before
--       [12] label of the holder  [13] how many requests of the grant had their turn before the present one
--       [14] 'waiting' or 'idle'  [15] sequence of the caller's request that waits longest, or ''  [16] its fixed lease, or ''
--       [17] 'ping' to send a message to the caller, or ''
-- Returns reply(status, a); a = how many connections of this server listen to the caller's channel, -1 if unknown:
--       EXPIRED  the deadline has passed; nothing was written
--       RENEWED  the grant [10] is still the present one
--       GONE     it is not, or none was named
-- Errors PROTOCOL or NEWER before any write.
--- include: changes
if now > tonumber(ARGV[9]) then
  return reply('EXPIRED')
end
local lease = ARGV[11] == '' and LEASE or whole(ARGV[11])
if not lease then
  return protocolError('arguments of the command')
end

--- include: line
keepHash(WINDOW + RETENTION)
local oldest = memberOf(ARGV[15], ARGV[16])
if held and holder == client and leaseEnd <= now and client .. ':' .. requests == oldest and mayGrant() then
  -- The grant ran out before its client knew of it (the server's clock was set forward), and no request has had the lock since: it
  -- is granted again.
  grant(client, requests, 1, math.min(WINDOW, LEASE), ARGV[4])
end
if ARGV[14] == 'waiting' then
  if ARGV[15] ~= '' and not redis.call('ZSCORE', queue, oldest) and not holds(ARGV[15]) then
    -- The queue was lost (evicted): a new generation, so that all requests of this client re-enter (M5).
    forget(client)
  end
  markAlive(true)
end

local status = 'GONE'
if held and holder == client and token == ARGV[10] and leaseEnd > now then
  status = 'RENEWED'
  leaseEnd = math.max(leaseEnd, math.min((ARGV[11] == '' and now or since) + lease, LONGEST))
  set('lease', leaseEnd - since, 'label', ARGV[12], 'served', ARGV[13])
  keepHash(WINDOW + RETENTION)
else
  settle()
end
if ARGV[17] == 'ping' then
  outbox[#outbox + 1] = { CHANNEL .. client, 'ping' }
end
return reply(status, listeners(client) or -1)

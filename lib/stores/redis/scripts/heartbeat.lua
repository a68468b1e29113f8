-- One call a lock, client and heartbeat: renews what the client holds, marks it alive in line, passes on what is free.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] client  [2] deadline in Redis ms (R2)  [3] first token of the grant to renew, or 0
--       [4] 'rolling': the lease ends [5] ms from now; 'fixed': it ends [5] ms after the grant; never earlier than before
--       [6] label of the holder  [7] 'waiting' or 'idle'  [8] sequence of the request that waits longest, or ''
--       [9] its member  [10] 'ping' to send a message to oneself, or ''  [11] terms
--       [12] how many requests of the grant had their turn before the present one  [13] guard
-- Returns the text 'RENEWED time left a' to one who does not wait, left being ms of its lease, else answer(status, a):
--       EXPIRED  the deadline has passed; nothing was written
--       RENEWED  the grant [3] is still the present one (its lease left is in the answer)
--       GONE     it is not, or none was named
--       a = how many connections of this server listen to the caller's channel, -1 if unknown
--- include: state
if now > tonumber(ARGV[2]) then
  return answer('EXPIRED')
end

if not whole(ARGV[5]) then
  return protocolError('arguments of the command')
end
local terms, guard = ARGV[11], ARGV[13]
--- include: line
-- R3: a first write that is allowed when memory is full; R4: as long as anything is left to keep.
wrote = true
redis.call('PEXPIRE', hash, lifetime(WINDOW + RETENTION))
if holder == client and leaseEnd <= now and client .. ':' .. run == ARGV[9] and (not guard or mayGrant()) then
  -- The grant ran out before its client heard of it (the server's clock was set forward), and nobody has had the lock since:
  -- the turn is still its.
  grant(client, run, 1, FIRST, FIRST_TTL, '')
end
if ARGV[7] == 'waiting' then
  if ARGV[8] ~= '' and not redis.call('ZSCORE', queue, ARGV[9]) and not holds(ARGV[8]) then
    -- The queue was lost (evicted): a new generation, so that all who stood in it re-enter (M5).
    forget(client)
  end
  speak(false, true)
end
local status = 'GONE'
if held() and holder == client and first == ARGV[3] and leaseEnd > now then
  status = 'RENEWED'
  local start = ARGV[4] == 'fixed' and since or stamp
  local ends = math.floor(start / 1000) + ARGV[5]
  if ends >= leaseEnd then
    from, lease, leaseEnd = start, ARGV[5], ends
  end
  label = ARGV[6]
  if string.find(run, ',', 1, true) then
    redis.call('HSET', hash, 'turn', first .. ' ' .. ARGV[12])
  end
  write(WINDOW + RETENTION)
else
  settle()
end
local heardBy = listeners(client)
if ARGV[10] == 'ping' then
  outbox[#outbox + 1] = { CHANNEL .. client, 'P' }
end
if status == 'RENEWED' and ARGV[7] == 'idle' then
  finish()
  return 'RENEWED ' .. stamp .. ' ' .. leaseEnd - now .. ' ' .. (heardBy or -1)
end
return answer(status, heardBy or -1)

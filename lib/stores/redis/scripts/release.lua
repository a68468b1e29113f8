-- Ends a grant and passes the lock on. Repeating it changes nothing; carries no deadline (R2).
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] the caller  [2] first token of the grant (M3)  [3] sequence of the first request of its batch, 0 if that had no turn
--       [4] until when Redis remembers the lock if no request waits: time of Redis in ms, about REST from now, after the last
--       token of the grant and the deadlines of all commands that the caller has sent; 0: not known
--       [5] to [7] are left out when all have their defaults ('', 'idle', ''):
--       [5] sequences of the requests of the batch that had no turn and go back to their places (M7), such as '4,5'; '': none
--       [6] 'waiting': the caller has requests in line and is marked alive; 'idle': it has none, or was marked alive just now
--       [7] for how many ms, counted from the grant, no request gets the lock: it is kept until then; '': it is passed on
--       the last three, if [6] is 'waiting': the caller's listener (includes/lock.lua)
-- Returns reply(status), which contains the next grant if the same client gets it, also when the release is repeated:
--       RELEASED  the grant is over, since this call or an earlier one
--       LOST      it was not the present grant; nothing was written
-- Errors PROTOCOL or NEWER before any write.
--- include: lock
local me, waiting, back, keep = client .. ':' .. ARGV[3], ARGV[6] == 'waiting', ARGV[5] or '', ARGV[7] or ''

local state, holder, token = unpack(redis.call('HMGET', hash, 'state', 'holder', 'token'))
local plain = state == 'held' or state == 'held+queue'
local mine = (plain or state == 'held+kinds') and holder == client and token == ARGV[2]
-- Whether the script only has to end the grant and pass the lock on.
local usual = plain and mine and back == '' and not waiting and keep == ''
local head, behind, lastToken
if usual and state ~= 'held' then
  head, behind = unpack(redis.call('ZRANGE', queue, '0', '1'))
  -- acquire and join may have raised last-token since the grant, when they put a request in line.
  lastToken = redis.call('HGET', hash, 'last-token')
  usual = lastToken and #lastToken == 16
end

-- A short cut with the same result as the code below, for a lock that no request waits for. It does not read the time, and its
-- reply has none. If the clock was set forward beyond [4], PEXPIREAT deletes the hash at once; then the deadlines of all commands
-- that the hash is kept for have passed as well (R2). So PEXPIREAT is the last write.
if usual and not head and ARGV[4] ~= '0' and (not lastToken or lastToken < ARGV[4])
  -- If memory is full, HSET fails and the code below runs, whose first write is allowed then (R3).
  and type(redis.pcall('HSET', hash, 'state', 'free', 'released-request', me)) == 'number' then
  redis.call('PEXPIREAT', hash, ARGV[4])
  return 'RELEASED'
end

--- include: time
-- A short cut with the same result as the code below. It applies if the clock is ahead of every token and the head of the line is
-- a single request of another client that is live and not suspect.
if usual and head and lastToken < stamp and not STRICT then
  local name, sequence = string.match(head, '^([^:]+):(%d+)$')
  if name and name ~= client and string.sub(behind or '', 1, #name) ~= name then
    local server, where = string.match(redis.call('HGET', hash, 'client:' .. name) or '',
      '^generation=%d+ server=(%S+) subscribed=%d+ suspect=0 .* where=(%S*)$')
    local deadline = server and server ~= '-' and redis.call('ZSCORE', clients, name)
    local channel = string.match(hash, '^[^{]*') .. 'client:' .. name
    if deadline and #deadline == 13 and deadline >= stampMs and (redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0) > 0 then
      -- The first write is one that is allowed when memory is full (R3).
      redis.call('ZREMRANGEBYRANK', queue, '0', '0')
      redis.call('HSET', hash, 'holder', name, 'token', stamp, 'last-token', stamp, 'requests', sequence,
        'since', stampMs, 'lease', FIRST_LEASE_TEXT, 'label', where,
        'released-request', me)
      redis.call('PEXPIRE', hash, FIRST_LEASE_LIFE)
      if not behind then
        redis.call('PEXPIRE', clients, REST_TEXT)
      end
      redis.pcall('PUBLISH', channel, 'granted ' .. stamp .. ' ' .. FIRST_LEASE_TEXT .. ' ' .. stamp .. ' ' .. sequence .. ' ' .. hash)
      return 'RELEASED ' .. stamp .. ' ' .. FIRST_LEASE_TEXT
    end
  end
end

--- include: changes
if not mine then
  return reply(releasedRequest == me and 'RELEASED' or 'LOST')
end
--- include: line
ended = { 'released-request', me }
keepHash()
if back ~= '' then
  requeue(back)
end
local keptUntil = keep ~= '' and math.min(since + (whole(keep) or 0), LONGEST) or 0
if keptUntil > now then
  keepUntil(keptUntil)
else
  held = false
end
if waiting then
  markAlive()
end
settle()
return reply('RELEASED')

-- Ends a grant and passes the lock on. Repeating it changes nothing; carries no deadline (R2).
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] the caller  [2] first token of the grant (M3)  [3] sequence of the first request of its run, 0 if that had no turn
--       [4] until when to remember a lock that nothing waits for: time of Redis in ms, about REST from now, after the last token
--       of the grant and the deadlines of all commands that the caller has sent; 0: not known
--       and where it is not so: [5] sequences of the requests of the run that had no turn and go back to their places (M7), '4,5',
--       '': none  [6] 'waiting': the caller waits itself and is marked alive; 'idle': it does not, or was marked just now
--       the last three, where it waits: its listener (includes/lock.lua)
-- Returns reply(status); a grant to the same client comes with it, also when the release is repeated:
--       RELEASED  the grant is over, now or already
--       LOST      it was not the present grant; nothing was written
-- Errors PROTOCOL or NEWER before any write.
--- include: lock
local me, waiting, back = client .. ':' .. ARGV[3], ARGV[6] == 'waiting', ARGV[5] or ''

local state, holder, token = unpack(redis.call('HMGET', hash, 'state', 'holder', 'token'))
local mine = (state == 'held' or state == 'held+queue') and holder == client and token == ARGV[2]
-- Nothing is to be done but to end the grant and to pass the lock on.
local usual = mine and back == '' and not waiting
local head, behind, lastToken
if usual and state ~= 'held' then
  head, behind = unpack(redis.call('ZRANGE', queue, '0', '1'))
  -- A request that came in line may have raised it.
  lastToken = redis.call('HGET', hash, 'last-token')
  usual = lastToken and #lastToken == 16
end

-- A short cut for a lock that nothing waits for: the same as below without the time, which its reply does not give either. If
-- the clock was set forward beyond the time to live, the hash is deleted at once, and all commands that it would have been kept
-- for come too late as well (R2). So the time to live is the last write.
if usual and not head and ARGV[4] ~= '0' and (not lastToken or lastToken < ARGV[4])
  -- R3: when memory is full, the way below begins with a write that is allowed.
  and type(redis.pcall('HSET', hash, 'state', 'free', 'released-request', me)) == 'number' then
  redis.call('PEXPIREAT', hash, ARGV[4])
  return 'RELEASED'
end

--- include: time
-- A short cut where the clock is ahead of every token and the head of the line is a single request, of another client that is
-- live and not suspect: the same as below.
if usual and head and lastToken < stamp and not STRICT then
  local name, sequence = string.match(head, '^([^:]+):(%d+)$')
  if name and name ~= client and string.sub(behind or '', 1, #name) ~= name then
    local server, where = string.match(redis.call('HGET', hash, 'client:' .. name) or '',
      '^generation=%d+ server=(%S+) subscribed=%d+ suspect=0 .* where=(%S*)$')
    local deadline = server and server ~= '-' and redis.call('ZSCORE', clients, name)
    local channel = string.match(hash, '^[^{]*') .. 'client:' .. name
    if deadline and #deadline == 13 and deadline >= stampMs and (redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0) > 0 then
      -- R3: a first write that is allowed when memory is full.
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
held = false
if waiting then
  markAlive()
end
settle()
return reply('RELEASED')

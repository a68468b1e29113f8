-- Ends a grant and passes the lock on. Repeating it changes nothing; carries no deadline (R2).
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] the caller  [2] first token of the grant (M3)  [3] sequence of the first request of its run, 0 if that had no turn
--       and where it is not so: [4] sequences of the requests of the run that had no turn and go back to their places (M7), '4,5',
--       '': none  [5] 'waiting': the caller waits itself and is marked alive; 'idle': it does not, or was marked just now
--       the last three, where it waits: its listener (includes/lock.lua)
-- Returns reply(status); a grant to the same client comes with it, also when the release is repeated:
--       RELEASED  the grant is over, now or already
--       LOST      it was not the present grant; nothing was written
-- Errors PROTOCOL or NEWER before any write.
--- include: lock
local me, waiting, back = client .. ':' .. ARGV[3], ARGV[5] == 'waiting', ARGV[4] or ''

-- Two short cuts where the clock is ahead of every token and there is nothing else to do: the same as below.
local state, holder, token, lastToken = unpack(redis.call('HMGET', hash, 'state', 'holder', 'token', 'last-token'))
local mine = (state == 'held' or state == 'held+queue') and holder == client and token == ARGV[2]
if mine and back == '' and not waiting and lastToken and #lastToken == 16 and lastToken < stamp then
  local head, behind
  if state ~= 'held' then
    head, behind = unpack(redis.call('ZRANGE', queue, '0', '1'))
  end
  if not head then
    -- R3: a first write that is allowed when memory is full.
    redis.call('PEXPIRE', hash, REST_TEXT)
    redis.call('HSET', hash, 'state', 'free', 'released-token', token, 'released-request', me)
    return 'RELEASED ' .. stamp
  end

  -- The head of the line is a single request, of another client that is live and not suspect.
  local name, sequence = string.match(head, '^([^:]+):(%d+)$')
  if name and name ~= client and string.sub(behind or '', 1, #name) ~= name
    and not STRICT then
    local server, where = string.match(redis.call('HGET', hash, 'client:' .. name) or '',
      '^generation=%d+ server=(%S+) subscribed=%d+ suspect=0 .* where=(%S*)$')
    local deadline = server and server ~= '-' and redis.call('ZSCORE', clients, name)
    local channel = string.match(hash, '^[^{]*') .. 'client:' .. name
    if deadline and #deadline == 13 and deadline >= stampMs and (redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0) > 0 then
      -- R3: as above.
      redis.call('ZREMRANGEBYRANK', queue, '0', '0')
      redis.call('HSET', hash, 'holder', name, 'token', stamp, 'last-token', stamp, 'requests', sequence,
        'since', stampMs, 'lease', FIRST_LEASE_TEXT, 'label', where,
        'released-token', token, 'released-request', me)
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
  return reply(releasedToken == ARGV[2] and 'RELEASED' or 'LOST')
end
--- include: line
ended = { 'released-token', token, 'released-request', me }
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

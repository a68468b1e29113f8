-- Ends a grant and passes the lock on. Repeating it changes nothing; carries no deadline (R2).
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] to [8] the caller (includes/lock.lua)  [9] first token of the grant (M3)
--       [10] sequence of the first request of its run, 0 if that had no turn
--       and where it is not so: [11] 'waiting': the caller waits itself and is marked alive; 'idle': it does not, or was marked
--       just now  [12] sequences of the requests of the run that had no turn and go back to their places (M7), '4,5', '': none
-- Returns reply(status); a grant to the same client comes with it, also when the release is repeated:
--       RELEASED  the grant is over, now or already
--       LOST      it was not the present grant; nothing was written
-- Errors PROTOCOL or NEWER before any write.
--- include: lock
local me, waiting, back = client .. ':' .. ARGV[10], ARGV[11] == 'waiting', ARGV[12] or ''

-- Two short cuts where the clock is ahead of every token and there is nothing else to do: the same as below.
local state, holder, token, lastToken = unpack(redis.call('HMGET', hash, 'state', 'holder', 'token', 'last-token'))
local mine = state == 'held' and holder == client and token == ARGV[9]
if mine and back == '' and not waiting and lastToken and #lastToken == 16 and lastToken < stamp then
  local head, behind = unpack(redis.call('ZRANGE', queue, '0', '1'))
  if not head then
    -- R3: a first write that is allowed when memory is full.
    redis.call('PEXPIRE', hash, ARGV[7])
    redis.call('HSET', hash, 'state', 'free', 'released-token', token, 'released-request', me)
    return 'RELEASED ' .. stamp
  end

  -- The head of the line is a single request, of another client that is live and not suspect.
  local name, sequence = string.match(head, '^([^:]+):(%d+)$')
  local ms = math.min(tonumber(ARGV[5]) or 0, tonumber(ARGV[6]) or 0)
  if name and name ~= client and string.sub(behind or '', 1, #name) ~= name
    and ARGV[8] == '' and ms > 0 and ms <= CENTURY and ms % 1 == 0 then
    local server, where = string.match(redis.call('HGET', hash, 'client:' .. name) or '',
      '^generation=%d+ server=(%S+) subscribed=%d+ suspect=0 .* where=(%S*)$')
    local deadline = server and server ~= '-' and redis.call('ZSCORE', clients, name)
    local channel = string.match(hash, '^[^{]*') .. 'client:' .. name
    if deadline and #deadline == 13 and deadline >= stampMs and (redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0) > 0 then
      local lease = tostring(ms)
      -- R3: as above.
      redis.call('ZREMRANGEBYRANK', queue, '0', '0')
      redis.call('HSET', hash, 'holder', name, 'token', stamp, 'last-token', stamp, 'requests', sequence,
        'since', stampMs, 'lease', lease, 'label', where,
        'released-token', token, 'released-request', me)
      redis.call('PEXPIRE', hash, tostring(ms + RETENTION))
      if not behind then
        redis.call('PEXPIRE', clients, ARGV[7])
      end
      redis.pcall('PUBLISH', channel, 'granted ' .. stamp .. ' ' .. lease .. ' ' .. stamp .. ' ' .. sequence .. ' ' .. hash)
      return 'RELEASED ' .. stamp .. ' ' .. lease
    end
  end
end

--- include: changes
if not mine then
  return reply(releasedToken == ARGV[9] and 'RELEASED' or 'LOST')
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

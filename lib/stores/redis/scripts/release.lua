-- Ends a grant and passes the lock on. Idempotent; carries no deadline (R2).
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] 'client:sequence' of the first request of its run (0 if it had no turn)  [2] first token of the grant (M3)
--       [3] ms to remember a released lock that nobody waits for
--       [4] 'unserved mode terms': sequences of the run that had no turn, ',1,2,', which go back to their places (M7), or
--       '-'; 'waiting': the caller waits itself, and this marks it alive, or 'idle': it does not, or has just spoken; terms
--       [5] guard
-- Returns the text 'RELEASED time wake' in the usual cases; wake: ms left of the lease of whoever has the lock now, -1 if
--       nobody has; else answer(status); a grant to the same client comes with it, also when the release is repeated:
--       RELEASED  it is over, now or already
--       LOST      it was not the present grant; nothing was touched
--- include: now
local me, own = ARGV[1], ARGV[2]
local mine = me .. ' ' .. own .. ' '
local usual = (form == H or form == W) and string.sub(kept, 2, #mine + 1) == mine and own < stamp
local members = usual and form == W and redis.call('ZRANGE', queue, '0', '1') or {}
local head, behind = members[1], members[2]

-- The usual release: nobody waits, and the clock is ahead of every token.
if usual and not head then
  -- R3: a first write that is allowed when memory is full.
  redis.call('PEXPIRE', hash, ARGV[3])
  redis.call('HSET', hash, 'grant', 'F' .. own .. ' ' .. own .. ':' .. me)
  return 'RELEASED ' .. stamp .. ' -1'
end

-- The usual handoff: the head of the line is a single request of another client, which is in touch and surely alive. What
-- is not usual in any way takes the long way, which would do the same here.
local lease, ttl, atRest = string.match(ARGV[4], '^%- idle (%d+) (%d+) .* (%d+)$')
if usual and lease and not ARGV[5] then
  local name, sequence = string.match(head, '^([^:]+):(%d+)$')
  if name and string.sub(behind or '', 1, #name) ~= name and string.sub(me, 1, #name) ~= name then
    local deadline = redis.call('ZSCORE', clients, name)
    local record = redis.call('HGET', hash, 'c:' .. name)
    local channel = string.match(hash, '^[^{]*') .. 'client:' .. name
    if deadline and deadline >= stampMs and record and string.find(record, '^%x+ 0 ') then
      -- Before the message: what PUBLISH counts are also those who listen to whole patterns of channels.
      local heard = redis.pcall('PUBSUB', 'NUMSUB', channel)
      if (tonumber(heard[2]) or 0) > 0 then
        -- R3: as above.
        redis.call('ZREMRANGEBYRANK', queue, '0', '0')
        redis.call('HSET', hash, 'grant', (behind and 'W' or 'H') .. head .. ' ' .. stamp .. ' ' .. own .. ':' .. me .. ' ' .. lease .. ' ')
        redis.call('PEXPIRE', hash, ttl)
        if not behind then
          -- Nobody is left in line.
          redis.call('PEXPIRE', clients, atRest)
        end
        redis.pcall('PUBLISH', channel, 'G ' .. stamp .. ' ' .. lease .. ' ' .. stamp .. ' ' .. sequence .. ' ' .. hash)
        return 'RELEASED ' .. stamp .. ' ' .. lease
      end
    end
  end
end

--- include: state
if holder ~= client or first ~= own then
  return answer(string.match(done, '^%d+') == own and 'RELEASED' or 'LOST')
end
done = own .. ':' .. me
holder, run, vacated = '', '', true
local unserved, mode, terms = string.match(ARGV[4], '^(%S+) (%a+) (.*)$')
local guard = ARGV[5]
if not usual and redis.call('ZCARD', queue) == 0 and unserved == '-' then
  spare = tonumber(ARGV[3])
  return answer('RELEASED')
end

--- include: line
if unserved ~= '-' then
  allow()
  putBack(function(sequence)
    return string.find(unserved, ',' .. sequence .. ',', 1, true) ~= nil
  end)
end
if mode == 'waiting' then
  allow()
  speak()
end
pass()
return answer('RELEASED')

-- Ends a grant and passes the lock on. Idempotent; carries no deadline (R2).
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] 'client:sequence' of the first request of its run (0 if it had no turn)  [2] first token of the grant (M3)
--       [3] ms to remember a released lock that nobody waits for
--       [4] 'unserved mode terms': sequences of the run that had no turn, ',1,2,', which go back to their places (M7), or
--       '-'; 'waiting': the caller waits itself, and this marks it alive, or 'idle': it does not, or has just spoken; terms
-- Returns the text 'RELEASED time wake' where nothing is to be told to the caller; wake: ms left of the lease of whoever has
--       the lock now, -1 if nobody has; else answer(status); a grant to the same client comes with it, also when the release
--       is repeated:
--       RELEASED  it is over, now or already
--       LOST      it was not the present grant; nothing was touched
--- include: now
local me, own = ARGV[1], ARGV[2]
local mine = 'H' .. me .. ' ' .. own .. ' '
local waiting = redis.call('ZCARD', queue)

-- The usual case: nobody waits, and the clock is ahead of every token.
if waiting == 0 and kept and string.sub(kept, 1, #mine) == mine and own <= stamp then
  -- R3: a first write that is allowed when memory is full.
  redis.call('PEXPIRE', hash, ARGV[3])
  redis.call('HSET', hash, 'grant', 'F' .. own .. ' ' .. own .. ':' .. me)
  return 'RELEASED ' .. stamp .. ' -1'
end

--- include: state
if holder ~= client or first ~= own then
  return answer(string.match(done, '^%d+') == own and 'RELEASED' or 'LOST')
end
done = first .. ':' .. me
holder, run, vacated = '', '', true
local unserved, mode, terms = string.match(ARGV[4], '^(%S+) (%a+) (.*)$')
if waiting == 0 and unserved == '-' then
  ttl = rest(ARGV[3])
  return answer('RELEASED')
end

--- include: line
if unserved ~= '-' then
  putBack(function(sequence)
    return string.find(unserved, ',' .. sequence .. ',', 1, true) ~= nil
  end)
end
if mode == 'waiting' then
  allow()
  speak()
end
pass()
if callerSpoke or askAgainAt or holder == client then
  return answer('RELEASED')
end
finish()
return 'RELEASED ' .. stamp .. ' ' .. (held() and lease or '-1')

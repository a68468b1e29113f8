-- Ends a grant and passes the lock on. Idempotent; carries no deadline (R2).
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] client  [2] first token of the grant (M3)  [3] sequence of the first request of its run
--       [4] ms to remember a released lock that nobody waits for  [5] 'waiting' or 'idle': what the caller does itself
--       [6] settings  [7] caller  [8] sequences of the run that had no turn, ',1,2,': they go back to their places (M7)
-- Returns { 'RELEASED', time } where nobody waits, else answer(status); a grant to the same client comes with it, also when the release is repeated:
--       RELEASED  it is over, now or already
--       LOST      it was not the present grant; nothing was touched
--- include: state
if not (held() and holder == client and first == tonumber(ARGV[2])) then
  local done = fields[3] and string.match(fields[3], '^%d+')
  return answer(done == ARGV[2] and 'RELEASED' or 'LOST')
end
local waiting = redis.call('ZCARD', queue)
-- R3: a first write that is allowed when memory is full.
redis.call('PEXPIRE', hash, waiting == 0 and rest(ARGV[4]) or RETENTION)
redis.call('HSET', hash, 'grant', '', 'done', ARGV[2] .. ' ' .. client .. ':' .. ARGV[3])
holder = ''
local unserved = ARGV[8]
if waiting == 0 and unserved == '' then
  return { 'RELEASED', now }
end

local settings, caller = ARGV[6], ARGV[7]
--- include: line
if unserved ~= '' then
  putBack(function(sequence)
    return string.find(unserved, ',' .. sequence .. ',', 1, true) ~= nil
  end)
end
if ARGV[5] == 'waiting' then
  speak()
end
pass()
return answer('RELEASED')

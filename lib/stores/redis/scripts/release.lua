-- Ends a grant and passes the lock on. Idempotent; carries no deadline (R2).
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] client  [2] first token of the grant (M3)  [3] sequence of the first request of its run
--       [4] ms to remember a released lock that nobody waits for  [5] 'waiting' or 'idle': what the caller does itself
--       [6] settings  [7] caller
-- Returns answer(status); a grant to the same client comes with it, also when the release is repeated:
--       RELEASED  it is over, now or already
--       LOST      it was not the present grant; nothing was touched
--- include: state
local given = tonumber(ARGV[2])

if not (held() and holder == client and first == given) then
  return answer(tonumber(fields[7] or 0) == given and 'RELEASED' or 'LOST')
end
-- R3: a first write that is allowed when memory is full.
redis.call('PEXPIRE', hash, RETENTION)
redis.call('HSET', hash, 'holder', '', 'done', ARGV[2], 'doneid', client .. ':' .. ARGV[3])
holder = ''
if redis.call('ZCARD', queue) == 0 then
  redis.call('PEXPIRE', hash, ARGV[4])
  redis.call('PEXPIRE', clients, ARGV[4])
  return answer('RELEASED')
end

local settings, caller = ARGV[6], ARGV[7]
--- include: line
if ARGV[5] == 'waiting' then
  speak()
end
pass()
return answer('RELEASED')

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
local mine = state == 'held' and holder == client and token == ARGV[9] and format == FORMAT

-- A short cut for a lock that nothing waits for, where the clock is ahead of every token: the same as below.
if mine and back == '' and not waiting and (tonumber(lastToken) or LONGEST) < micros and redis.call('ZCARD', queue) == 0 then
  -- R3: a first write that is allowed when memory is full.
  redis.call('PEXPIRE', hash, ARGV[7])
  redis.call('HSET', hash, 'state', 'free', 'released-token', token, 'released-request', me)
  return { 'RELEASED', micros }
end

--- include: handoff
ended = { 'released-token', token, 'released-request', me }
local usual = mine and back == '' and not waiting and not strict and (tonumber(lastToken) or LONGEST) < micros
if usual then
  lastToken = tonumber(lastToken)
  if passToHead() then
    return reply('RELEASED')
  end
end

--- include: grant
if not mine then
  return reply(releasedToken == ARGV[9] and 'RELEASED' or 'LOST')
end
--- include: line
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

-- Ends the present grant, whoever has it, tells its holder, and passes the lock on.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] client  [2] settings  [3] caller
-- Returns answer(status): FORCED somebody held it, FREE nobody did
--- include: state
local settings, caller = ARGV[2], ARGV[3]
--- include: line
local status = 'FREE'
if held() and leaseEnd > now then
  status = 'FORCED'
  outbox[1] = { CHANNEL .. holder, 'L ' .. now .. ' ' .. int(first) .. ' ' .. hash }
  -- Who of a run is inside is known to its client alone. All but the first go back to their places; those that were
  -- served are handed on when their turn comes.
  local named, rest = string.match(redis.call('HGET', hash, 'behind') or '', '^(%d+) (.*)$')
  if named == int(first) then
    for ticket, member in string.gmatch(rest, '(%d+) (%S+)') do
      redis.call('ZADD', queue, ticket, member)
    end
    redis.call('PEXPIRE', queue, WINDOW + RETENTION)
  end
  lapse()
end
settle()
return answer(status)

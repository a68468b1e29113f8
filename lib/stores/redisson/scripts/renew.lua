-- Extends the lease of a grant that still holds, or fixes it. A late copy of a renewal does not shorten the lease that another command has set.
--
-- KEYS  [1] lock  [2] queue  [3] deadlines
-- ARGV  [1] request  [2] client clock  [3] channel  [4] publish  [5] lease in ms  [6] 'renew' or 'fix'
-- Returns status, Redis time
--       RENEWED  the lease has its full length again
--       GONE     it is not the present grant
--- include: lock
if not holds() then
  return { 'GONE', time }
end
if ARGV[6] == 'fix' or redis.call('PTTL', lock) < tonumber(ARGV[5]) then
  redis.call('PEXPIRE', lock, ARGV[5])
end
return { 'RENEWED', time }

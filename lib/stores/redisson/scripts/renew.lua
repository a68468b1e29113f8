-- Extends the lease of a grant that still holds. Writes nothing after its deadline.
--
-- KEYS  [1] lock  [2] queue  [3] deadlines
-- ARGV  [1] request  [2] client clock  [3] channel  [4] publish  [5] lease in ms  [6] Redis ms after which nothing is written
-- Returns status, Redis time
--       EXPIRED  too late
--       RENEWED  the lease has its full length again
--       GONE     it is not the present grant
--- include: lock
if time > tonumber(ARGV[6]) then
  return { 'EXPIRED', time }
end
if not holds() then
  return { 'GONE', time }
end
redis.call('PEXPIRE', lock, ARGV[5])
return { 'RENEWED', time }

-- Ends a grant, whoever has it, tells its holder, and passes the lock on. Idempotent: it names the grant that it ends.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] client  [2] first token of the grant, or 0: only a grant that no script can read is cleared away
--       [3] terms  [4] guard
-- Returns answer(status): FORCED it was ended, now or by this command before; FREE it is not the present grant
--- include: now
clears = ARGV[2] == '0'
--- include: state
local terms, guard = ARGV[3], ARGV[4]
--- include: line
local status = 'FREE'
if unreadable then
  status = 'FORCED'
  allow()
  redis.call('HDEL', hash, 'grant')
elseif done == ARGV[2] .. ':forced' then
  status = 'FORCED'
elseif held() and leaseEnd > now and first == ARGV[2] then
  status = 'FORCED'
  outbox[1] = { CHANNEL .. holder, 'L ' .. stamp .. ' ' .. first .. ' ' .. hash }
  allow()
  putBackAllButFirst()
  done = first .. ':forced'
  vacate()
end
settle()
return answer(status)

-- Ends a grant of any client, notifies its holder, and passes the lock on. The caller names the grant, so that a repeated call
-- cannot end another one.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] the caller  [2] first token of the grant, or 'unreadable': clears a grant only if no script can read it,
--       or 'shared': ends the shared holds [3] and on, client:sequence:number
-- Returns reply(status): FORCED the grant was ended, by this call or an earlier copy of it; FREE it is not the present grant
-- Errors PROTOCOL or NEWER before any write.
--- include: line
local status = 'FREE'
if not readable then
  status = 'FORCED'
  keepHash()
  redis.call('HDEL', hash, 'format', 'state', 'last-token')
elseif releasedRequest == 'forced:' .. ARGV[2] then
  status = 'FORCED'
elseif ARGV[2] == 'shared' then
  keepHash()
  for i = 3, kinds and #ARGV or 0 do
    local name, sequence, number = string.match(ARGV[i], '^([^:]+):(%d+):(%d+)$')
    if name and endShare(name, sequence, 0, number) then
      status = 'FORCED'
      outbox[#outbox + 1] = { CHANNEL .. name, 'revoked-share ' .. stamp .. ' ' .. sequence .. ':' .. number .. ' ' .. hash }
    end
  end
elseif held and leaseEnd > now and token == ARGV[2] then
  status = 'FORCED'
  outbox[1] = { CHANNEL .. holder, 'revoked ' .. stamp .. ' ' .. token .. ' ' .. hash }
  keepHash()
  ended = { 'released-request', 'forced:' .. token }
  takeAway(true)
end
settle()
return reply(status)

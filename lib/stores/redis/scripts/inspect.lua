-- Who holds the lock and who waits. Writes nothing.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] the caller  [2] how many waiters to name
-- Returns reply('SHOWN', …): the holder ('' if the lock is free), its label, token of the request that has its turn, held for ms,
--         ms left of its lease, first token of the grant, how many requests wait (including those of the present grant that have
--         not had their turn), { member, ticket in µs, liveness deadline in ms, record, … }: four entries per waiter, in order, and of a
--         lock that is shared { limit ('' if none), client, its record of shared holds, … }
-- Errors PROTOCOL or NEWER.
--- include: changes
local waiters, known = {}, {}

local function show(member, ticket, deadline)
  local name = string.match(member, '^[^:]+') or ''
  known[name] = known[name]
    or { redis.call('ZSCORE', clients, name) or '0', redis.call('HGET', hash, 'client:' .. name) or '' }
  for _, value in ipairs({ member, ticket, deadline or known[name][1], known[name][2] }) do
    waiters[#waiters + 1] = value
  end
end

local most, length, served = tonumber(ARGV[2]), redis.call('ZCARD', queue), 0
held = held and leaseEnd > now
if isRun() then
  local behind
  behind, served = unserved()
  length = length + behind
  local nextTicket = string.gmatch(redis.call('HGET', hash, 'tickets') or '', '%d+')
  local place = -served
  for sequence in string.gmatch(requests, '%d+') do
    local ticket = nextTicket()
    if ticket and place > 0 and place <= most then
      -- A request of the grant lives as long as its holder does.
      show(holder .. ':' .. sequence, ticket, now)
    end
    place = place + 1
  end
end
local left = most - #waiters / 4
local members = left > 0 and redis.call('ZRANGE', queue, 0, left - 1, 'WITHSCORES') or {}
for i = 1, #members, 2 do
  show(members[i], members[i + 1])
end
if held then
  return reply('SHOWN', holder, label, token + served, now - since, leaseEnd - now, tonumber(token), length, waiters)
end
local shares, cursor = { limit and int(limit) or '' }, used > 0 and '0'
while cursor do
  local page = redis.call('HSCAN', hash, cursor, 'MATCH', 'held:*', 'COUNT', 1000)
  for i = 1, #page[2], 2 do
    shares[#shares + 1] = string.sub(page[2][i], 6)
    shares[#shares + 1] = page[2][i + 1]
  end
  cursor = page[1] ~= '0' and page[1]
end
return reply('SHOWN', '', '', 0, 0, 0, 0, length, waiters, #shares > 1 and shares or nil)

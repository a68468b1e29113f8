-- Who holds the lock and who waits. Writes nothing.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] client  [2] how many waiters to name
-- Returns { time in ms, holder ('' if free), label, token of the request that has its turn, held for ms, lease left in ms,
--           how many wait, those of the present grant that had no turn included,
--           { member, ticket in µs, liveness deadline in ms, record, … } four entries a waiter, in order,
--           record of the holder's client ('' if it has none), first token of the grant }
--- include: state
local waiters = {}
local records = {}

local function show(member, ticket)
  local name = string.match(member, '^[^:]+') or ''
  if not records[name] then
    records[name] = { redis.call('ZSCORE', clients, name) or '0', redis.call('HGET', hash, 'c:' .. name) or '' }
  end
  waiters[#waiters + 1] = member
  waiters[#waiters + 1] = ticket
  waiters[#waiters + 1] = records[name][1]
  waiters[#waiters + 1] = records[name][2]
end

local busy = held() and leaseEnd > now
local most, length, served = tonumber(ARGV[2]), redis.call('ZCARD', queue), 0
if busy then
  local behind
  behind, served = unserved()
  length = length + behind
  local named, places = string.match(redis.call('HGET', hash, 'places') or '', '^(%d+) (.*)$')
  local place = -served
  for ticket, member in string.gmatch(named == first and places or '', '(%d+) (%S+)') do
    if place > 0 and place <= most then
      show(member, ticket)
      -- A member of the grant lives as long as its holder does.
      waiters[#waiters - 1] = now
    end
    place = place + 1
  end
end
local left = most - #waiters / 4
local members = left > 0 and redis.call('ZRANGE', queue, 0, left - 1, 'WITHSCORES') or {}
for i = 1, #members, 2 do
  show(members[i], members[i + 1])
end
if busy then
  local known = redis.call('HGET', hash, 'c:' .. holder) or ''
  return { now, holder, label, first + served, heldFor(), leaseEnd - now, length, waiters, known, tonumber(first) }
end
return { now, '', '', 0, 0, 0, length, waiters, '', 0 }

-- The place of the caller's request in line. A script first sets: sequence, mark (memberOf), waiting (the length of the queue), and
-- ownTicket, the ticket that the client knows of (0: none).
--- include: clients
local member = memberOf(sequence, mark)
local ticket = tonumber(redis.call('ZSCORE', queue, member) or nil)

-- Marks the caller alive, and puts the request in line if it has no place. Returns whether it got one now.
local function enter()
  markAlive()
  -- If the place was lost, a late copy of the first acquire may have queued the request with a later ticket. The ticket that
  -- the client knows counts.
  local known = ownTicket > 0 and ownTicket or LONGEST
  local isPlaced = ticket and ticket <= known
  -- If only the hash was lost, it must say again that requests of several kinds wait.
  if isPlaced and (not kinds or format == KINDS) then
    return false
  end
  local last = lastTicket()
  ticket = isPlaced and ticket or known < LONGEST and known or math.max(last + 1, micros)
  enqueue({ ticket, member }, math.max(last, ticket), waiting)
  return true
end

local function queued()
  return reply('QUEUED', ticket, (redis.call('ZRANK', queue, member) or 0) + unserved())
end

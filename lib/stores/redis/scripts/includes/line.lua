-- Chooses the next request of the line and passes the lock to it (settle, offer; R5 to R8).
--- include: liveness
--- include: primary

-- One call stops after it has looked at more than SWEEP entries, so it still finds a live waiter behind SWEEP dead ones (R8). It reads
-- FIRST_STEP of them, since the head mostly decides, and then STEP at a time.
local SWEEP = 1000
local FIRST_STEP, STEP = 4, 100

-- At most this many requests of one client, next to each other in line, are granted together.
local MAX_RUN = 64

-- Grants the free lock to the request `head` at `rank` of the queue, and to the requests of the same client that follow it directly.
-- `behind` is the next entry, `text` the client's record.
local function give(name, rank, head, behind, text)
  local sequences, alone, fixed = string.match(head, '^[^:]+:(%d+)(:?)(%d*)$')
  -- The first lease is short, so that a waiter that died just now blocks the lock for one window at most. The first renewal
  -- extends it to the full lease.
  local lease = math.min(WINDOW, LEASE, tonumber(fixed) or LONGEST)
  local count, tickets = 1, nil
  if alone == '' and behind and string.match(behind, '^([^:]+):%d+$') == name then
    local members = redis.call('ZRANGE', queue, rank, rank + MAX_RUN - 1, 'WITHSCORES')
    tickets = members[2]
    for i = 3, #members, 2 do
      local owner, sequence = string.match(members[i], '^([^:]+):(%d+)$')
      if owner ~= name then
        break
      end
      count = count + 1
      sequences = sequences .. ',' .. sequence
      tickets = tickets .. ',' .. members[i + 1]
    end
  end
  redis.call('ZREMRANGEBYRANK', queue, rank, rank + count - 1)
  grant(name, sequences, count, lease, valueOf(text, 'where') or '')
  if tickets then
    set('tickets', tickets, 'served', 0)
  elseif alone ~= '' then
    set('entry', head)
  end
  if not behind or tickets then
    leaveToExpire()
  end
  if name ~= client then
    local channel = CHANNEL .. name
    outbox[#outbox + 1] = { channel, 'granted ' .. stamp .. ' ' .. lease .. ' ' .. token .. ' ' .. sequences .. ' ' .. hash }
  end
end

-- Whether a request may pass the suspects ahead of it (`suspectSince`, `markedAt`: see look; the earliest of all suspects). The
-- request must have been in line before they became suspect, and the subscription of its client must have been up before they were
-- last marked alive, or for the grace by now. Otherwise all subscriptions may just be coming back, and the order is kept.
local function mayPass(member, subscribed, suspectSince, markedAt)
  return subscribed and tonumber(redis.call('ZSCORE', queue, member)) < suspectSince
    and (subscribed < markedAt or now - subscribed >= GRACE)
end

-- Offers the lock to the requests in line, from the head on, in the order of their tickets: to those whose clients are live. Passes over
-- suspects (R6) and drops the dead (R8). `take` gets the request, its client, its rank and the client's record. It returns true if it
-- let the request in beside others, which is then taken out of the queue, and the next one has its turn; else this is the end.
-- `isFull`, if given, says that no request can get a turn, so that none needs to be judged.
local function offer(take, isFull)
  if not mayGrant() then
    -- If the time is unknown, a client asks again once per window.
    askAgainAt = grantableAt < math.huge and grantableAt or now + WINDOW
    return
  end
  local rank, looked, step = 0, 0, FIRST_STEP
  local suspectSince, markedAt
  while looked <= SWEEP do
    local members = redis.call('ZRANGE', queue, rank, rank + step - 1)
    local taken, dead, isOver = {}, {}, false
    for _, member in ipairs(members) do
      if isFull and isFull() then
        isOver = true
        break
      end
      local name = nameOf(member)
      local one = judge(name)
      if one.verdict == DEAD then
        dead[#dead + 1] = member
      elseif one.verdict == SUSPECT then
        rank = rank + 1
        suspectSince = math.min(suspectSince or one.suspectSince, one.suspectSince)
        markedAt = math.min(markedAt or one.markedAt, one.markedAt)
        askAgainAt = math.ceil(suspectSince / 1000) + GRACE
      else
        drop(dead)
        dead = {}
        isOver = true
        if not suspectSince or mayPass(member, one.subscribed, suspectSince, markedAt) then
          askAgainAt = nil
          isOver = not take(member, name, rank, one.record)
        end
        if isOver then
          break
        end
        taken[#taken + 1] = member
      end
    end
    drop(dead)
    if #taken > 0 then
      redis.call('ZREM', queue, unpack(taken))
      leaveToExpire()
    end
    looked = looked + #members
    if isOver or #members < step then
      return
    end
    step = STEP
  end
  -- More entries are left to look at: the caller must call again at once.
  askAgainAt = now
end

-- Grants the lock to one request alone, and to those of its client that follow it directly.
local function giveAlone(member, name, rank, record)
  give(name, rank, member, redis.call('ZRANGE', queue, rank + 1, rank + 1)[1], record)
end

-- Puts requests of the present grant back into their places in line; `entries` as for enqueue.
local function putBack(entries)
  enqueue(entries, lastTicket(), redis.call('ZCARD', queue))
  -- The set of clients may have expired while the queue was empty (the clock was set forward): give the holder a new window.
  redis.call('ZADD', clients, 'NX', now + WINDOW, holder)
  keepLine()
end

-- Puts the requests of the present batch that are in `list` back into their places in line (M7).
local function requeue(list)
  local nextTicket = string.gmatch(isRun() and redis.call('HGET', hash, 'tickets') or '', '%d+')
  local entries = {}
  for sequence in string.gmatch(requests, '%d+') do
    local ticket = nextTicket()
    if ticket and contains(list, sequence) then
      entries[#entries + 1] = ticket
      entries[#entries + 1] = holder .. ':' .. sequence
    end
  end
  if #entries > 0 then
    putBack(entries)
  end
end

-- Ends the grant without a release: its client gets a new generation (M5), and what is known of its subscription stays, because it
-- may be dead and wait as well. Redis does not know exactly which request of a batch has
-- its turn. So all but the first go back to their places; a request that was already served is handed on by its client when its
-- turn comes again.
local function takeAway(keepsPlaces)
  if keepsPlaces then
    requeue(string.match(requests, ',(.*)') or '')
  end
  local text = recordOf(holder)
  if text then
    change(holder, text, 'generation', micros)
  end
  held = false
end

-- Ends a grant whose lease is over. The other requests of its batch keep their places (renewals may have been lost, or the clock was
-- set), unless no connection listens to the client's channel any more. So does the first one if its client may not know of the grant
-- because the server was away: the client calls now, or last called another server, or all are silent (R7). offer judges whether the
-- client is alive when their turn comes.
local function lapse()
  local entry = unconfirmed()
  if not entry and not isRun() then
    return takeAway(false)
  end
  local server = valueOf(recordOf(holder), 'server') or '-'
  local isNewServer = not isThisServer(server)
  takeAway(isRun() and (holder == client or listeners(holder) ~= 0 or isNewServer))
  if entry and (holder == client or isNewServer and server ~= '-' or inGrace()) then
    -- It was the head of the line when it was granted, so it goes before all that wait now.
    local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')[2]
    putBack({ first and first - 1 or math.max(lastTicket(), 1), entry })
  end
end

-- The lock, or a part of it, is kept. The client of the head may know a much later end of the lease, so a message tells it to ask; the
-- others learn the time by their heartbeats.
local function tellOfKept(head)
  outbox[#outbox + 1] = { CHANNEL .. nameOf(head), 'kept ' .. stamp .. ' ' .. hash }
end

-- Ends the grant and keeps the lock until then (ms): a grant to no client, which ends like a lease that is not renewed.
local function keepUntil(moment)
  holder, requests, leaseEnd = KEPT, '0', moment
  set('holder', holder, 'requests', requests, 'lease', leaseEnd - since, unpack(ended))
  keepHash()
  local head = redis.call('ZRANGE', queue, 0, 0)[1]
  if head then
    tellOfKept(head)
  end
end

-- Functions for a lock of several kinds; a plain one does not pay for them.
local settleKinds, recordKinds, recordGains, kindOf, admits, admit, listShares, endShare, renewShares
if kinds then
--- include: shares
--- include: kinds
end

-- Ends a lease that is over, passes a free lock on, and shortens the time to live of a lock that is no longer needed.
local function settle()
  if held and leaseEnd <= now then
    lapse()
  end
  if kinds then
    return settleKinds()
  end
  if not held and redis.call('ZCARD', queue) > 0 then
    plusQueue = '+queue'
    offer(giveAlone)
  end
  if not held and redis.call('ZCARD', queue) == 0 then
    plusQueue = ''
    keepFree(REST)
  elseif not held then
    -- No request can be granted the lock yet. The hash keeps the records of the waiting clients until their next heartbeats.
    keepFree(lineLife())
  end
end

-- Passes on a lock that requests of several kinds use: exclusive ones, reads, and permits (docs/protocol.md).
--
-- The mark of a shared request is `r` for a read, or p<weight>/<limit> for a permit, and `,<ms>` after it if its lease is fixed.
--- include: shares

-- One call admits at most this many requests; if more fit, the caller asks again.
local MOST_ADMITTED = 256

-- What a mark or the end of a queue's entry asks for; nil if it is exclusive.
function kindOf(mark)
  local fixed = whole(string.match(mark, ',(%d+)$'))
  if string.match(mark, '^r[,%d]*$') then
    return { mode = 'read', weight = 1, fixed = fixed }
  end
  local weight, most = string.match(mark, '^p(%d+)/(%d+)')
  return weight and { mode = 'permits', weight = tonumber(weight), limit = tonumber(most), fixed = fixed } or nil
end

-- The rule: an exclusive request needs that nothing is held, a read that nothing is held but reads. Permits of one limit may be held
-- together; one whose weight no longer fits into a lowered limit is admitted alone.
function admits(kind)
  if held or used == 0 then
    return not held
  end
  return kind ~= nil and kind.mode == sharing
    and (sharing == 'read' or used + kind.weight <= math.min(kind.limit, limit or kind.limit))
end

-- What this call admitted, by client.
local gains, gainers = {}, {}

-- Lets a request hold the lock with others. `about`: who it is, for people.
function admit(name, sequence, kind, about)
  if used == 0 then
    firstEnd, lastEnd = nil, nil
  end
  if #gainers == 0 then
    lastToken = lastToken < micros and micros or lastToken + 1
  end
  used, sharing, limit = used + kind.weight, kind.mode, kind.limit or limit
  since, label = now, about
  local gain = gains[name]
  if not gain then
    gain = { about = about, entries = {}, list = {} }
    gains[name], gainers[#gainers + 1] = gain, name
  end
  local own = kind.fixed and int(math.min(now + kind.fixed, LONGEST)) or ''
  gain.isRenewed = gain.isRenewed or own == ''
  gain.entries[#gain.entries + 1] = ',' .. sequence .. ':' .. int(kind.weight) .. ':' .. (kind.limit and int(kind.limit) or '')
    .. ':' .. int(lastToken) .. ':' .. own
  gain.list[#gain.list + 1] = sequence .. ':' .. int(lastToken) .. (kind.fixed and ':' .. int(kind.fixed) or '')
  if kind.fixed then
    noteEnd(tonumber(own))
  end
end

-- Writes the records of the clients whose requests were admitted, for `lease` ms, and notifies each of them once.
function recordGains(lease)
  for _, name in ipairs(gainers) do
    local gain = gains[name]
    local ends, entries, about = sharesOf(name)
    if gain.isRenewed then
      ends = math.max(ends, math.min(now + lease, LONGEST))
      noteEnd(ends)
    end
    writeShares(name, ends, entries .. table.concat(gain.entries), about == '' and gain.about or about)
    local list, left = table.concat(gain.list, ','), math.max(0, ends - now)
    if name == client then
      listed, listedLeft = listed and listed .. ',' .. list or list, left
    else
      outbox[#outbox + 1] = { CHANNEL .. name, 'shared ' .. stamp .. ' ' .. int(left) .. ' ' .. list .. ' ' .. hash }
    end
  end
  gains, gainers = {}, {}
end

-- Admits requests from the head of the line, in order, until one is not admitted: it blocks all behind it. R6 and R8 are as in pass.
local function passKinds()
  if not mayGrant() then
    askAgainAt = grantableAt < math.huge and grantableAt or now + WINDOW
    return
  end
  local rank, looked, admitted = 0, 0, 0
  local suspectSince, markedAt
  while looked <= SWEEP do
    local members = redis.call('ZRANGE', queue, rank, rank + STEP - 1)
    local gone, dead, blocked = {}, {}, false
    for _, member in ipairs(members) do
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
        local sequence, mark = string.match(member, '^[^:]+:(%d+):?(.*)$')
        local kind = kindOf(mark)
        local late = suspectSince and not mayPass(member, one.subscribed, suspectSince, markedAt)
        blocked = late or not admits(kind) or admitted == MOST_ADMITTED
        if blocked then
          -- Only the grace of a suspect, or the limit of this call, is a reason to call again; else the next end of a hold is.
          if not late then
            askAgainAt = admits(kind) and now or nil
          end
          break
        end
        askAgainAt = nil
        if not kind then
          drop(dead)
          return give(name, rank, member, redis.call('ZRANGE', queue, rank + 1, rank + 1)[1], one.record)
        end
        admit(name, sequence, kind, valueOf(one.record, 'where') or '')
        admitted = admitted + 1
        gone[#gone + 1] = member
      end
    end
    drop(dead)
    if #gone > 0 then
      redis.call('ZREM', queue, unpack(gone))
      leaveToExpire()
    end
    looked = looked + #members
    if blocked or #members < STEP then
      return
    end
  end
  askAgainAt = now
end

-- Writes what is held and whether requests wait, of a lock that nobody holds alone. If neither, it goes back to the plain format.
function recordKinds()
  local isEmpty = redis.call('ZCARD', queue) == 0
  plusQueue = isEmpty and '' or '+kinds'
  if used > 0 then
    format = KINDS
    set('state', 'shared' .. plusQueue, 'mode', sharing, 'used', int(used), 'first-end', int(firstEnd), 'last-end', int(lastEnd),
      'since', int(since), 'label', label, 'last-token', int(lastToken), unpack(ended))
    if limit then
      set('limit', int(limit))
    end
    return keepHash(isEmpty and RETENTION or WINDOW + RETENTION)
  end
  if isEmpty then
    kinds, format, limit = false, FORMAT, nil
    redis.call('HDEL', hash, 'mode', 'used', 'limit', 'first-end', 'last-end')
  end
  keepHash(isEmpty and REST or RETENTION)
  if state then
    set('state', 'free' .. plusQueue, 'last-token', int(lastToken), unpack(ended))
  end
end

-- settle for a lock of several kinds.
function settleKinds()
  lapseShares()
  if not held then
    format = KINDS
    plusQueue = '+kinds'
    if redis.call('ZCARD', queue) > 0 then
      passKinds()
      recordGains(math.min(WINDOW, LEASE))
    end
  end
  if not held then
    recordKinds()
  end
end

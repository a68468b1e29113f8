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

-- Whether no request can be admitted, whatever it asks for.
local function isFull()
  return used > 0 and sharing == 'permits' and limit ~= nil and used >= limit
end

-- Admits requests from the head of the line, in order, until one is not admitted: it blocks all behind it.
local function offerKinds()
  local admitted = 0
  offer(function(member, name, rank, record)
    local sequence, mark = string.match(member, '^[^:]+:(%d+):?(.*)$')
    local kind = kindOf(mark)
    if not admits(kind) then
      -- The end of a hold is the next reason to call.
      return false
    end
    if not kind then
      return giveAlone(member, name, rank, record)
    end
    if admitted == MOST_ADMITTED then
      askAgainAt = now
      return false
    end
    admit(name, sequence, kind, valueOf(record, 'where') or '')
    admitted = admitted + 1
    return true
  end, isFull)
end

-- Writes which shared holds the lock has, and whether requests wait. A lock with neither goes back to the plain format.
function recordKinds()
  local isEmpty = redis.call('ZCARD', queue) == 0
  plusQueue = isEmpty and '' or '+kinds'
  if used > 0 then
    format, state = KINDS, 'shared'
    set('state', 'shared' .. plusQueue, 'mode', sharing, 'used', int(used), 'first-end', int(firstEnd), 'last-end', int(lastEnd),
      'since', int(since), 'label', label, 'last-token', int(lastToken), unpack(ended))
    if limit then
      set('limit', int(limit))
    end
    if kept then
      set('kept', kept)
    end
    return keepHash(isEmpty and RETENTION or WINDOW + RETENTION)
  end
  if isEmpty then
    kinds, format, limit, kept = false, FORMAT, nil, nil
    redis.call('HDEL', hash, 'mode', 'used', 'limit', 'first-end', 'last-end', 'kept')
  end
  keepHash(isEmpty and REST or lineLife())
  -- If the hash was lost, it must say again that requests of several kinds wait.
  if state or not isEmpty then
    state = 'free'
    set('state', 'free' .. plusQueue, 'last-token', int(lastToken), unpack(ended))
  end
end

-- While some weight is kept, each new head of the line is told.
local function tellNewHead()
  local head = used > 0 and lastKept() > now and redis.call('ZRANGE', queue, 0, 0)[1]
  if head and string.match(kept, ' (.*)$') ~= head then
    kept = string.match(kept, '^%d+ ') .. head
    tellOfKept(head)
  end
end

-- settle for a lock of several kinds.
function settleKinds()
  lapseShares()
  if not held then
    format = KINDS
    plusQueue = '+kinds'
    if redis.call('ZCARD', queue) > 0 and not isFull() then
      offerKinds()
      recordGains(math.min(WINDOW, LEASE))
    end
  end
  if not held then
    tellNewHead()
    recordKinds()
  end
end

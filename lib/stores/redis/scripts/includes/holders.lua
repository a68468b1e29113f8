-- Who holds the lock: a field `h:<id>` for each, with the value `<end of its lease> <token> <terms>:<label>`. What holdAtLeast keeps has
-- a field `h:-<id>`, which belongs to no client. The field `ahead` says that tokens may have been kept for neighbours.

-- A call looks at this many fields at most.
local MOST_HOLDERS = 1000

local function readHold(value)
  local ends, token, text = string.match(value, '^(%d+) (%d+) ([^:]*):')
  return { ends = tonumber(ends) or 0, token = tonumber(token) or 0, terms = readTerms(text or '') }
end

-- No lease ends before `ends`: what was seen of a look in parts counts no more.
local function endFirst(lock, ends)
  lock.isKept = lock.isKept and ends == lock.ends
  lock.hasChanged = lock.hasChanged or ends ~= lock.ends or lock.scan ~= nil
  lock.ends, lock.scan, lock.least = ends, nil, math.huge
end

local function setHold(lock, id, ends, rest)
  set(lock, 'h:' .. id, number(ends) .. ' ' .. rest)
  if ends < lock.ends then
    lock.ends, lock.isKept, lock.hasChanged = ends, string.byte(id) == 45, true
  end
  lock.least = math.min(lock.least, ends)
  lock.life = math.max(lock.life, ends - lock.now)
end

-- Counts a hold in.
local function take(lock, terms)
  lock.mode, lock.used, lock.hasChanged = terms.mode, lock.used + terms.weight, true
  countLimit(lock, terms.limit, 1)
end

-- Gives the lock to a request for `lease` ms, unless it has a fixed lease. Its token, which it returns as text, is the next one; `kept`
-- more are for its neighbours.
local function hold(lock, id, about, terms, lease, kept)
  lock.token = math.max(lock.micros, lock.token + 1)
  local token = number(lock.token)
  lock.tokenText = token
  if kept and kept > 0 then
    lock.token = lock.token + kept
    lock.tokenText = number(lock.token)
  end
  if lock.token > lock.micros then
    set(lock, 'ahead', '1')
  end
  if lock.used == 0 then
    endFirst(lock, math.huge)
  end
  take(lock, terms)
  setHold(lock, id, lock.now + (terms.fixed or lease), token .. ' ' .. about)
  return token
end

-- Ends a hold that has `value`.
local function drop(lock, id, value)
  redis.call('HDEL', lock.hash, 'h:' .. id)
  local terms = readHold(value).terms
  lock.used, lock.hasChanged = math.max(0, lock.used - terms.weight), true
  countLimit(lock, terms.limit, -1)
  if lock.used == 0 then
    lock.mode = nil
    endFirst(lock, math.huge)
  end
end

-- Calls `found` with the id and the value of each hold, which Redis reads `size` at a time; of a very large lock, of a part. `found` may
-- return true: enough.
local function eachHold(lock, size, found)
  local cursor, looked = '0', 0
  repeat
    local page = redis.call('HSCAN', lock.hash, cursor, 'MATCH', 'h:*', 'COUNT', size)
    for i = 1, #page[2], 2 do
      if found(string.sub(page[2][i], 3), page[2][i + 1]) then
        return
      end
    end
    cursor, looked = page[1], looked + 1
  until cursor == '0' or looked == 10
end

-- Ends what has expired: leases that were not renewed, and times for which a lock was kept. A lock with more fields than one call
-- looks at is looked at in parts: `scan` says where to go on, `least` is the earliest end so far.
local function expire(lock)
  if lock.ends > lock.now then
    return
  end
  flush(lock)
  lock.hasChanged = true
  local sum, limits, cursor, over, isKept = 0, {}, lock.scan, {}, false
  local page = redis.call('HSCAN', lock.hash, cursor or '0', 'COUNT', MOST_HOLDERS)
  for i = 1, #page[2], 2 do
    local field, value = page[2][i], page[2][i + 1]
    if string.sub(field, 1, 2) == 'h:' then
      local was = readHold(value)
      if was.ends <= lock.now then
        over[#over + 1] = field
        -- If its holder lives, the clock of Redis was set forward.
        local owner, sequence = string.match(field, '^h:([^:-]+):(%d+)$')
        if owner then
          tell(lock, owner, 'expired ' .. sequence .. ' ' .. number(was.token) .. ' ' .. lock.hash)
        end
        lock.used = math.max(0, lock.used - was.terms.weight)
        countLimit(lock, was.terms.limit, -1)
      else
        if was.ends < lock.least then
          lock.least, isKept = was.ends, string.byte(field, 3) == 45
        end
        sum = sum + was.terms.weight
        if was.terms.limit then
          limits[was.terms.limit] = (limits[was.terms.limit] or 0) + 1
        end
      end
    end
  end
  inParts('HDEL', lock.hash, over)
  if page[1] ~= '0' then
    lock.scan, lock.more = page[1], true
    return
  end
  if not cursor or lock.least >= 2 ^ 53 then
    -- All was seen in one look, or nothing is held in any part, so this is the truth.
    lock.used, lock.limits, lock.limit = sum, limits, nil
  end
  if lock.used == 0 then
    lock.mode = nil
  end
  endFirst(lock, lock.least)
  lock.isKept = isKept
end

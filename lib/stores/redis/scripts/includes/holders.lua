-- Who holds the lock: a field `h:<id>` for each, with the value `<end of its lease> <token> <terms>:<label>`. What holdAtLeast keeps has
-- a field `h:-<id>`, which belongs to no client.

-- A call looks at this many holders at most.
local MOST_HOLDERS = 1000

local function readHold(value)
  local ends, token, text = string.match(value, '^(%d+) (%d+) ([^:]*):')
  return { ends = tonumber(ends) or 0, token = tonumber(token) or 0, terms = readTerms(text or '') }
end

-- No lease ends before `ends`: what was seen of a look in parts counts no more.
local function endFirst(lock, ends)
  lock.ends, lock.scan, lock.least = ends, nil, math.huge
end

local function setHold(lock, id, ends, rest)
  set(lock, 'h:' .. id, number(ends) .. ' ' .. rest)
  lock.ends, lock.least = math.min(lock.ends, ends), math.min(lock.least, ends)
  lock.life = math.max(lock.life, ends - lock.now)
end

-- Counts a hold in.
local function take(lock, terms)
  lock.mode, lock.used, lock.limit = terms.mode, lock.used + terms.weight, terms.limit or lock.limit
end

-- Gives the lock to a request for `lease` ms, unless it has a fixed lease. Its token is the next one.
local function hold(lock, id, about, terms, lease)
  lock.token = math.max(lock.micros, lock.token + 1)
  lock.rest = 0
  if lock.used == 0 then
    endFirst(lock, math.huge)
  end
  take(lock, terms)
  setHold(lock, id, lock.now + (terms.fixed or lease), number(lock.token) .. ' ' .. about)
end

-- Ends a hold that has `value`.
local function drop(lock, id, value)
  redis.call('HDEL', lock.hash, 'h:' .. id)
  lock.used, lock.rest = math.max(0, lock.used - readHold(value).terms.weight), 0
  if lock.used == 0 then
    lock.mode = nil
    endFirst(lock, math.huge)
  end
end

-- Ends what has expired: leases that were not renewed, times for which a lock was kept, and marks. A lock with more fields than one call
-- looks at is looked at in parts: `scan` says where to go on, `least` is the earliest end so far.
local function expire(lock)
  if lock.ends > lock.now then
    return
  end
  flush(lock)
  local sum, cursor = 0, lock.scan
  local page = redis.call('HSCAN', lock.hash, cursor or '0', 'COUNT', MOST_HOLDERS)
  for i = 1, #page[2], 2 do
    local field, value = page[2][i], page[2][i + 1]
    local kind, ends = string.match(field, '^[hx]:'), tonumber(string.match(value, '^%d+')) or 0
    if kind and ends <= lock.now then
      redis.call('HDEL', lock.hash, field)
      lock.used = kind == 'h:' and math.max(0, lock.used - readHold(value).terms.weight) or lock.used
    elseif kind == 'h:' then
      lock.least, sum = math.min(lock.least, ends), sum + readHold(value).terms.weight
    end
  end
  if page[1] ~= '0' then
    lock.scan, lock.more = page[1], true
    return
  end
  if not cursor then
    -- All was seen in one look, so this is the truth.
    lock.used = sum
  end
  if lock.used == 0 then
    lock.mode, lock.rest = nil, 0
  end
  endFirst(lock, lock.least)
end

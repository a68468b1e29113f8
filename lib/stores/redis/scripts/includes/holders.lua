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

-- Keeps what a hold had until `ms` after its grant.
local function keep(lock, id, value, ms)
  local was = readHold(value)
  local ends = math.ceil(was.token / 1000) + ms
  if ends > lock.now then
    local kept = redis.call('HGET', lock.hash, 'h:-' .. id)
    if kept then
      drop(lock, '-' .. id, kept)
    end
    take(lock, was.terms)
    setHold(lock, '-' .. id, ends, string.match(value, '^%d+ (.*)$'))
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

local function describeHeld(lock, value)
  local was = readHold(value)
  return 'held ' .. number(math.max(0, was.ends - lock.now)) .. ' ' .. number(was.token)
end

-- Renews a hold, for `lease` ms: nil, for LEASE ms unless its lease is fixed; 0, not at all. `present`: the token, terms and label that
-- the hold has now, '' if they are unchanged.
local function renew(lock, id, lease, present)
  local value = redis.call('HGET', lock.hash, 'h:' .. id)
  if not value then
    return 'none'
  end
  local was = readHold(value)
  if present ~= '' then
    lock.rest = lock.token - string.match(present, '^%d+')
    value = number(was.ends) .. ' ' .. present
  end
  lease = lease or was.terms.fixed and 0 or LEASE
  if lease == 0 and present == '' then
    return describeHeld(lock, value)
  end
  -- Clients with other options may have given it for longer.
  local ends = math.max(was.ends, lease > 0 and lock.now + lease or 0)
  setHold(lock, id, ends, string.match(value, '^%d+ (.*)$'))
  if lock.mode == 'write' then
    endFirst(lock, ends)
  end
  return 'held ' .. number(ends - lock.now) .. ' ' .. number(was.token)
end

-- What blocks the lock: `<used> <limit or -> <held for ms> <kept for ms> <who>`, by the hold that has lasted longest; empty if nothing does.
local function blocker(lock)
  if lock.used == 0 then
    return ''
  end
  flush(lock)
  local page, longest, who, kept, keeper = redis.call('HSCAN', lock.hash, 0, 'MATCH', 'h:*', 'COUNT', MOST_HOLDERS)[2], nil, '', 0, ''
  for i = 1, #page, 2 do
    local was, label = readHold(page[i + 1]), string.match(page[i + 1], '^[^:]*:(.*)$') or ''
    if string.sub(page[i], 3, 3) == '-' then
      if was.ends - lock.now > kept then
        kept, keeper = was.ends - lock.now, label
      end
    elseif not longest or was.token < longest then
      longest, who = was.token, label
    end
  end
  local heldFor = longest and math.max(0, lock.now - math.floor(longest / 1000)) or 0
  return number(lock.used) .. ' ' .. (lock.limit and number(lock.limit) or '-') .. ' ' .. number(heldFor) .. ' '
    .. (longest and 0 or number(kept)) .. ' ' .. (longest and who or keeper)
end

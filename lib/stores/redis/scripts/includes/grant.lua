-- Reads the hash of the lock. If `state` is 'free', the other fields describe the last grant; `state` is false if there is no hash.
--- include: time
local micros = tonumber(stamp)
local now = math.floor(micros / 1000)
-- The largest whole number that both Redis and Lua store exactly.
local LONGEST = 2 ^ 53 - 1

-- Reads a whole number of milliseconds or microseconds; nil if the text is not one.
local function whole(text)
  local number = tonumber(text)
  return number and number >= 0 and number <= LONGEST and number % 1 == 0 and number or nil
end

-- An error before any write: a script does not change data that it cannot read.
local function protocolError(what)
  return redis.error_reply('PROTOCOL this version cannot read the ' .. what)
end

-- `record` is the caller's own.
local format, state, holder, token, lastToken, requests, since, leased, label, releasedRequest, record =
  unpack(redis.call('HMGET', hash, 'format', 'state', 'holder', 'token', 'last-token', 'requests', 'since', 'lease', 'label',
    'released-request', 'client:' .. client))
if format and format ~= FORMAT and format ~= KINDS and (tonumber(format) or 0) > 1 then
  return redis.error_reply('NEWER ' .. format .. ' ' .. KINDS)
end

-- In Redis, 'held', 'free' and 'shared' mean that the queue is empty; with the suffix '+queue', requests may wait in it, and with
-- '+kinds' such that share the lock. Keep the suffix in its own variable. Each function that writes `state` sets this variable, too.
local plusQueue = string.match(state or '', '%+%a+$') or ''
state = state and string.sub(state, 1, -1 - #plusQueue)
since, leased, lastToken = whole(since), whole(leased), whole(lastToken)
-- Whether the lock is in format KINDS. If so: the weights of all shared holds together (0: none), whether they are reads or permits,
-- the limit of the permits, a time that is not after the earliest end of their leases, and one that is not before the latest; until when
-- some weight is kept, and which entry of the queue was told of that: `<ms> <entry>`.
local kinds = format == KINDS
local used, sharing, limit, firstEnd, lastEnd, kept = 0, nil, nil, nil, nil, nil
if kinds then
  used, sharing, limit, firstEnd, lastEnd, kept =
    unpack(redis.call('HMGET', hash, 'used', 'mode', 'limit', 'first-end', 'last-end', 'kept'))
  used = state == 'shared' and whole(used) or 0
  limit, firstEnd, lastEnd = whole(limit), whole(firstEnd), whole(lastEnd)
end
local readable = format == FORMAT or kinds or not format and not state
if state then
  readable = readable and lastToken and (state == 'free'
    or state == 'held' and holder and requests and whole(token) and since and leased and label
    or used > 0 and sharing and firstEnd and lastEnd and since and label)
end
if not readable then
  -- Only force release may clear what no script can read.
  if ARGV[2] ~= 'unreadable' then
    return protocolError('hash ' .. hash)
  end
  state, format, lastToken, kinds, used = false, FORMAT, 0, false, 0
end
local held = state == 'held'
local leaseEnd = since and leased and math.min(since + leased, LONGEST)
lastToken = lastToken or 0

-- The holder of a lock that is kept (`holdAtLeast`): no client. Each script, also of a version that does not know this name, treats
-- such a lock as held until its lease ends.
local KEPT = 'kept'

-- For how many ms from now the lock is kept; nothing if it is not.
local function keptFor()
  if held and holder == KEPT and leaseEnd > now then
    return leaseEnd - now
  end
end

-- `mark`: the fixed lease of an exclusive request, '' if it has none, or 'alone'; of a shared one see includes/kinds.lua.
local function memberOf(sequence, mark)
  return client .. ':' .. sequence .. (mark == '' and '' or mark == 'alone' and ':' or ':' .. mark)
end

-- Whether the present grant covers several requests, which hold the lock one after the other.
local function isRun()
  return held and string.find(requests, ',', 1, true) ~= nil
end

-- The entry that the first request of the present grant had in the queue, if the length of the lease does not show that its client has
-- renewed the grant.
local function unconfirmed()
  local firstLease = math.min(WINDOW, LEASE)
  if held and holder ~= KEPT and leased <= firstLease then
    local plain = holder .. ':' .. string.match(requests, '^%d*')
    local entry = redis.call('HGET', hash, 'entry')
    return entry and string.match(entry, '^[^:]+:%d+') == plain and entry or leased == firstLease and plain
  end
end

-- How many requests of the present batch have not had their turn yet, and how many had it before the present one, as far as the
-- client has reported.
local function unserved()
  if not isRun() then
    return 0, 0
  end
  local _, others = string.gsub(requests, ',', '')
  local served = math.min(whole(redis.call('HGET', hash, 'served')) or 0, others)
  return others - served, served
end

-- Whether a list like '4,5,6' has the sequence.
local function contains(list, sequence)
  return string.find(',' .. list .. ',', ',' .. sequence .. ',', 1, true) ~= nil
end

-- Whether the caller's request `sequence` is in the present grant.
local function holds(sequence)
  return held and holder == client and leaseEnd > now and contains(requests, sequence)
end

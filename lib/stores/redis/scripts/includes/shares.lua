-- The shared holds of a lock: one record for each client that has some (docs/protocol.md). Only for a lock of several kinds.
--
-- The record of a client is the field held:<client>: `end=<ms> requests=<entry>… label=<text>`, where `end` is that of all leases
-- which its heartbeats renew. An entry is `,sequence:weight:limit:number:end`, without a limit for a read. The number is the same for
-- all that one script admits, and rises like a token. `end` is empty if the lease is renewed, or that of a fixed lease, or k<ms>: the request is over, and its weight is
-- kept until then (`holdAtLeast`).
--- include: liveness
local ENTRY = '(%d+):(%d*):(%d+):(k?%d*)'

-- A record may be long: in these functions no pattern runs over all of it.
local function parseShares(text)
  local ends, from = string.match(text or '', '^end=(%d+) requests=()')
  local to, after = string.find(text or '', ' label=', 1, true)
  if not ends or not to then
    return 0, '', ''
  end
  return tonumber(ends), string.sub(text, from, to - 1), string.sub(text, after + 1)
end

local function sharesOf(name)
  return parseShares(redis.call('HGET', hash, 'held:' .. name))
end

local function writeShares(name, ends, entries, about)
  if entries == '' then
    redis.call('HDEL', hash, 'held:' .. name)
  else
    redis.call('HSET', hash, 'held:' .. name, 'end=' .. int(ends) .. ' requests=' .. entries .. ' label=' .. about)
  end
end

-- Finds the hold of a request, or with `number` the one with that number, which may be over and keep its weight. A request may have one of
-- each, because a late copy of its command let it in again.
local function findShare(entries, sequence, number)
  local at = 1
  while true do
    local from = string.find(entries, ',' .. sequence .. ':', at, true)
    if not from then
      return nil
    end
    local _, to, weight, most, found, own = string.find(entries, '^,%d+:' .. ENTRY, from)
    if number == found or not number and string.sub(own, 1, 1) ~= 'k' then
      return from, to, weight, most, found, own
    end
    at = from + 1
  end
end

-- Until when some weight is kept (ms).
local function lastKept()
  return tonumber(string.match(kept or '', '^%d+')) or 0
end

-- Some lease of a shared hold ends then.
local function noteEnd(moment)
  firstEnd = math.min(firstEnd or moment, moment)
  lastEnd = math.max(lastEnd or moment, moment)
end

-- Lists the shared holds of the caller in the reply: all of them, or one beside those that this call let in. Returns whether there is any.
function listShares(one)
  if one and string.find(',' .. (listed or ''), ',' .. one .. ':', 1, true) then
    return true
  end
  local ends, entries = sharesOf(client)
  local list = { one and listed }
  local before = #list
  if one then
    local from, to = findShare(entries, one)
    entries = from and string.sub(entries, from, to) or ''
  end
  for sequence, _, _, number, own in string.gmatch(entries, ',(%d+):' .. ENTRY) do
    if string.sub(own, 1, 1) ~= 'k' then
      list[#list + 1] = sequence .. ':' .. number .. (own == '' and '' or ':' .. int(own - now))
    end
  end
  if #list == before then
    return false
  end
  listed, listedLeft = table.concat(list, ','), math.max(0, ends - now)
  return true
end

-- Ends the shared hold of a request, and gives its weight back, once. Returns whether it was one, and the number of the hold.
-- `keep`: for how many ms from the grant its weight is kept, 0: not. `number`, if given, is the hold that is taken away by force;
-- else the request is over for its client, which leaves a weight that is kept as it is.
function endShare(name, sequence, keep, number)
  local ends, entries, about = sharesOf(name)
  local from, to, weight, most, found = findShare(entries, sequence, number)
  if not from then
    return false
  end
  local left = ''
  local keptUntil = keep > 0 and math.min(math.floor(found / 1000), now) + keep or 0
  if keptUntil > now then
    left = ',' .. sequence .. ':' .. weight .. ':' .. most .. ':' .. found .. ':k' .. int(math.min(keptUntil, LONGEST))
    noteEnd(math.min(keptUntil, LONGEST))
    kept = int(math.min(math.max(keptUntil, lastKept()), LONGEST)) .. ' '
  else
    used = used - weight
  end
  writeShares(name, ends, string.sub(entries, 1, from - 1) .. left .. string.sub(entries, to + 1), about)
  return true
end

-- Renews the caller's shared holds, except those with fixed leases. Returns whether it has any.
function renewShares(about)
  local ends, entries = sharesOf(client)
  if entries == '' then
    return false
  end
  if ends > now then
    ends = math.max(ends, math.min(now + LEASE, LONGEST))
    noteEnd(ends)
  end
  writeShares(client, ends, entries, about)
  return true
end

-- Puts requests back before all that wait, since they were let in before those: their clients may not know of it, because the server was
-- away.
local function putSharesBack(lapsed)
  table.sort(lapsed, function(one, other)
    return one.number < other.number or one.number == other.number and one.order < other.order
  end)
  local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')[2] or math.max(lastTicket(), #lapsed) + 1
  local entries = {}
  for i, one in ipairs(lapsed) do
    entries[#entries + 1] = first - #lapsed + i - 1
    entries[#entries + 1] = one.member
  end
  enqueue(entries, lastTicket(), redis.call('ZCARD', queue))
  for _, one in ipairs(lapsed) do
    redis.call('ZADD', clients, 'NX', now + WINDOW, one.name)
  end
  keepLine()
end

-- Whether a client may not know what the server let it in for (see lapse).
local function missedIt(name, text)
  local server = valueOf(text, 'server') or '-'
  return name == client or server ~= '-' and not isThisServer(server) or inGrace()
end

-- Ends the shared holds whose leases are over. Their client gets a new generation (M5), as after the end of any lease. The records are
-- read only when `first-end` has come; a renewal leaves it as it is, so that is once in a lease at most while all are renewed.
local function lapseShares()
  if used == 0 or firstEnd > now then
    return
  end
  local fields, texts, cursor = {}, {}, '0'
  repeat
    local page = redis.call('HSCAN', hash, cursor, 'MATCH', 'held:*', 'COUNT', 1000)
    cursor = page[1]
    for i = 1, #page[2], 2 do
      -- HSCAN may show a field twice.
      if not texts[page[2][i]] then
        fields[#fields + 1] = page[2][i]
      end
      texts[page[2][i]] = page[2][i + 1]
    end
  until cursor == '0'
  used, firstEnd, lastEnd = 0, nil, nil
  local lapsed = {}
  for _, field in ipairs(fields) do
    local name = string.sub(field, 6)
    local ends, entries, about = parseShares(texts[field])
    local left, lost, over, unaware = {}, false, false, {}
    for sequence, weight, most, number, own in string.gmatch(entries, ',(%d+):' .. ENTRY) do
      local moment = own == '' and ends or tonumber(string.match(own, '%d+'))
      if moment > now then
        left[#left + 1] = ',' .. sequence .. ':' .. weight .. ':' .. most .. ':' .. number .. ':' .. own
        used = used + weight
        noteEnd(moment)
      else
        over = true
        lost = lost or string.sub(own, 1, 1) ~= 'k'
        -- No heartbeat has renewed it since it was let in: that would have made `end` a whole lease later. One before may have, for other
        -- holds of its client. The entry of a request with a fixed lease is not known any more.
        local began = math.floor(number / 1000)
        if own == '' and (ends < began + LEASE or ends <= began + math.min(WINDOW, LEASE)) then
          local mark = most == '' and 'r' or 'p' .. weight .. '/' .. most
          unaware[#unaware + 1] =
            { name = name, member = name .. ':' .. sequence .. ':' .. mark, number = tonumber(number), order = #unaware }
        end
      end
    end
    if over then
      writeShares(name, ends, table.concat(left), about)
    end
    local text = lost and recordOf(name)
    if text then
      for _, one in ipairs(missedIt(name, text) and unaware or {}) do
        lapsed[#lapsed + 1] = one
      end
      change(name, text, 'generation', micros)
    end
  end
  if #lapsed > 0 then
    putSharesBack(lapsed)
  end
end

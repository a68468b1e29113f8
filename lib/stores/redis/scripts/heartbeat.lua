-- Renews what a client holds, marks it alive where it waits, and tells what the server knows of its requests: for several locks.
--
-- KEYS  [1] [2] [3] hash, queue, clients of the first lock; then those of the next
-- ARGV  [1] client; then for each lock: how many it holds, how many of those that wait are named,
--       for each hold: id, ms of its lease ('': LEASE, or what is left of a fixed one), what the hold is now ('': as before),
--       for each that waits: its name
-- Returns for each lock a reply (includes/reply.lua) with an answer for each hold and each that waits:
--       held LEFT TOKEN, line, or none
--       In place of a reply, the text of an error: FORMAT, PROTOCOL. Nothing was written to that lock.
-- A write that is allowed when memory is full comes first (rule 10).
redis.call('HDEL', KEYS[1], '')
--- include: lock
--- include: terms
--- include: holders
--- include: held
--- include: strict
--- include: line
--- include: pass
--- include: reply
-- Renews a hold, for `lease` ms: nil, for LEASE ms unless its lease is fixed; 0, not at all. `present`: the token, terms and label that
-- the hold has now, '' if they are unchanged.
local function renew(lock, id, lease, present)
  local value = redis.call('HGET', lock.hash, 'h:' .. id)
  if not value then
    return 'none'
  end
  local was = readHold(value)
  if present ~= '' then
    -- A late copy may name an old grant.
    local rest = lock.token - string.match(present, '^%d+')
    lock.rest = rest < MOST_TOGETHER and math.max(0, rest) or 0
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

local time = redis.call('TIME')
local client, at, replies = ARGV[1], 2, {}

local function beat(first)
  local held, waiting = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  local from, to = at + 2, at + 1 + 3 * held
  at = to + waiting + 1
  local lock, problem = open(time, first)
  if problem then
    return problem
  end
  expire(lock)
  local answers = {}
  for i = from, to, 3 do
    answers[#answers + 1] = renew(lock, ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2])
  end
  if waiting > 0 then
    markAlive(lock, client)
    keepLine(lock)
  end
  pass(lock, client)
  if lock.moved then
    flush(lock)
  end
  for i = to + 1, to + waiting do
    local isInLine = redis.call('ZSCORE', lock.queue, ARGV[i])
    local value = not isInLine and redis.call('HGET', lock.hash, 'h:' .. string.match(ARGV[i], '^[^:]+:%d+'))
    answers[#answers + 1] = isInLine and 'line' or value and describeHeld(lock, value) or 'none'
  end
  close(lock)
  return reply(lock, client, answers)
end

for i = 1, #KEYS, 3 do
  replies[#replies + 1] = beat(i)
end
return replies

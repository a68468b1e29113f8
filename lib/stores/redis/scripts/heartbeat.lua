-- Renews what a client holds, marks it alive where it waits, takes out of the queue who is gone, and tells what the server knows of the
-- client's requests.
--
-- KEYS  [1] hash  [2] queue  [3] clients; for several locks, see includes/several.lua
-- ARGV  [1] client  [2] how many it holds
--       for each hold: id, its lease ('': LEASE, or what is left of a fixed one; 0: it is not renewed; '=' and ms: it is fixed from now on), and
--       who has its turn under it now, as token and name ('': as before)
--       for each that waits: its name
-- GIVEN  FORMAT, LEASE, ROW, STRICT, WINDOW
-- Returns a reply (includes/reply.lua) with an answer for each hold and each that waits:
--       held LEFT TOKEN, line, or none
--       For several locks, an array with one of these for each, or the text of FORMAT or PROTOCOL: nothing was written to that lock.
-- Errors FORMAT, PROTOCOL
-- A write that is allowed when memory is full comes first (rule 10).
redis.call('HDEL', KEYS[1], '')
--- include: lock
--- include: terms
--- include: holders
--- include: held
--- include: strict
--- include: queue
--- include: pass
--- include: reply
--- include: several
-- Renews a hold, for `lease` ms: '', for LEASE ms unless its lease is fixed; 0, not at all.
local function renew(lock, id, lease, present)
  local value = redis.call('HGET', lock.hash, 'h:' .. id)
  if not value then
    return 'none'
  end
  local was = readHold(value)
  local token, name = string.match(present, '^(%d+) (.*)$')
  if name then
    value = number(was.ends) .. ' ' .. token .. ' ' .. string.match(name, '^[^:]+:%d+:(.*)$')
  end
  local fixed = string.match(lease, '^=(%d+)$')
  if fixed then
    setHold(lock, id, lock.now + fixed, string.gsub(string.match(value, '^%d+ (.*)$'), '^(%d+ [^:]-)(a?u?):', '%1f' .. fixed .. '%2:'))
    endFirst(lock, math.min(lock.ends, lock.now + fixed))
    return 'held ' .. fixed .. ' ' .. number(was.token)
  end
  lease = tonumber(lease) or was.terms.fixed and 0 or LEASE
  if lease == 0 and not name then
    return describeHeld(lock, value)
  end
  -- Clients with other options may have given it for longer.
  local ends = math.max(was.ends, lease > 0 and lock.now + lease or 0)
  setHold(lock, id, ends, string.match(value, '^%d+ (.*)$'))
  if lock.mode == 'write' then
    endFirst(lock, ends)
  end
  if name then
    -- Who has its turn is in the queue no more.
    redis.call('ZREM', lock.queue, name)
  end
  return 'held ' .. number(ends - lock.now) .. ' ' .. number(was.token)
end

-- Tells the holder once more that it holds the lock, on behalf of the head: if it does not know that any more, it gives it back (rule 8).
local function remind(lock, client, named)
  if headClient(lock) ~= client then
    return
  end
  eachHold(lock, 1, function(id, value)
    local owner, sequence = string.match(id, '^([^:-]+):(%d+)$')
    local was = readHold(value)
    if owner and not named[id] then
      tell(lock, owner, 'held ' .. number(was.token) .. ' ' .. number(math.max(0, was.ends - lock.now)) .. ' ' .. sequence .. ' ' .. lock.hash)
    end
    return true
  end)
end

local function beat(first, values)
  local client, last = values[1], 2 + 3 * values[2]
  local lock, problem = open(first)
  if problem then
    return nil, problem
  end
  expire(lock)
  local answers, late, named = {}, {}, {}
  for i = 3, last, 3 do
    named[values[i]] = true
    answers[#answers + 1] = renew(lock, values[i], values[i + 1], values[i + 2])
  end
  if last < #values then
    markAlive(lock, client)
    keepQueue(lock)
    sweep(lock)
  end
  pass(lock, client)
  flush(lock)
  if last < #values and lock.mode == 'write' then
    remind(lock, client, named)
  end
  for i = last + 1, #values do
    local value = redis.call('HGET', lock.hash, 'h:' .. string.match(values[i], '^[^:]+:%d+'))
    local isInQueue = redis.call('ZSCORE', lock.queue, values[i])
    if value and isInQueue then
      -- The script that granted it was stopped.
      late[#late + 1] = values[i]
    end
    answers[#answers + 1] = value and describeHeld(lock, value) or isInQueue and 'line' or 'none'
  end
  leave(lock, late)
  tellHead(lock, client)
  close(lock)
  return reply(lock, client, answers)
end

return answerRest({}, nil, beat)

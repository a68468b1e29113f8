-- Requests have ended: each is a hold that ends, a place in the queue that is left, or nothing. Who is next gets the lock. Repeating it
-- changes nothing.
--
-- KEYS  [1] hash  [2] queue  [3] clients; for several locks, see includes/several.lua
-- ARGV  [1] id of a request: all there is for the end of a usual hold
--       [2] its terms and label, '' if it cannot be in the queue  [3] how:
--       ''       no more than that
--       'why'    its wait time has elapsed: the answer tells what blocks the lock
--       'keep'   [4] ms, counted from the grant, for which no request gets what it held
--       'force'  it belongs to another client, which is told; [4] the token that it must have, '': any; [5] … more ids
--       [5] … if not by force: names of others that end with it; of a row, those that had their turns under its hold (rule 9)
-- GIVEN  FORMAT, LEASE, ROW, STRICT, WINDOW
-- Returns 1: it held the lock alone, and nobody waits
--       or a reply (includes/reply.lua) with one answer: held, line N, or none; after it, for 'why', the blocker
--       For several locks, an array with one of these for each, or the text of FORMAT or PROTOCOL: nothing was written to that lock.
-- Errors FORMAT, PROTOCOL before any write

-- The only holder releases the lock, the queue is empty, and no clients are left of it. The hash of such a lock has two fields.
local function usual(first, words, id)
  if words == 1 and redis.call('EXISTS', KEYS[first + 1], KEYS[first + 2]) == 0 and redis.call('HLEN', KEYS[first]) == 2
    and redis.call('HEXISTS', KEYS[first], 'h:' .. id) == 1 then
    return redis.call('DEL', KEYS[first])
  end
end

--- include: usual
--- include: lock
--- include: terms
--- include: holders
--- include: blocker
--- include: strict
--- include: pass
--- include: reply
--- include: several
-- Ends the holds of other clients, and tells them. `token`: that the first must have. Whether any has ended.
local function force(lock, ids, token)
  local hasEnded = false
  for i, id in ipairs(ids) do
    local value = redis.call('HGET', lock.hash, 'h:' .. id)
    local was = value and readHold(value)
    if was and (i > 1 or token == '' or number(was.token) == token) then
      drop(lock, id, value)
      hasEnded = true
      local owner, sequence = string.match(id, '^([^:-]+):(%d+)$')
      if owner then
        tell(lock, owner, 'lost ' .. sequence .. ' ' .. number(was.token) .. ' ' .. lock.hash)
      end
    end
  end
  return hasEnded and 'held' or 'none'
end

-- Keeps what a hold with `value` had until `ms` have passed since its grant; not for longer than that if the clock was set back.
local function keep(lock, id, value, ms)
  local was = readHold(value)
  local ends = math.min(math.ceil(was.token / 1000), lock.now) + ms
  if ends <= lock.now then
    return
  end
  -- A late copy of its acquire may have granted it again.
  local kept = redis.call('HGET', lock.hash, 'h:-' .. id)
  if kept then
    drop(lock, '-' .. id, kept)
  end
  take(lock, was.terms)
  setHold(lock, '-' .. id, ends, string.match(value, '^%d+ (.*)$'))
end

-- Ends one request, whichever it is.
local function finishOne(lock, id, name, value)
  local rank, answer = name and redis.call('ZRANK', lock.queue, name), 'none'
  if rank then
    redis.call('ZREM', lock.queue, name)
    answer, lock.hasLeft = 'line ' .. rank, true
  end
  if value then
    drop(lock, id, value)
    answer = 'held'
  end
  return answer
end

-- Ends the requests `names`, whichever each is.
local function finishOthers(lock, names)
  if #names == 0 then
    return
  end
  local fields = {}
  for i, name in ipairs(names) do
    fields[i] = 'h:' .. string.match(name, '^[^:]+:%d+')
  end
  for i, value in ipairs(redis.call('HMGET', lock.hash, unpack(fields))) do
    if value then
      drop(lock, string.sub(fields[i], 3), value)
    end
  end
  inParts('ZREM', lock.queue, names)
  lock.hasLeft = true
end

-- The answer for the lock whose keys begin at KEYS[first], or nil and the text of an error.
local function finish(first, values)
  local id, about, how = values[1], values[2] or '', values[3] or ''
  local client = how == 'force' and '' or string.match(id, '^[^:]+')
  local lock, problem = open(first, id)
  if problem == UNREADABLE and how == 'force' then
    redis.call('DEL', KEYS[first])
    lock, problem = open(first, id)
  end
  if problem then
    return nil, problem
  end
  local answer
  if how == 'force' then
    answer = force(lock, { id, unpack(values, 5) }, values[4] or '')
  else
    answer = finishOne(lock, id, about ~= '' and id .. ':' .. about, lock.held)
    finishOthers(lock, { unpack(values, 5) })
    if how == 'keep' and lock.held then
      keep(lock, id, lock.held, tonumber(values[4]))
    end
  end
  if answer == 'none' then
    -- A write that is allowed when memory is full comes first (rule 10). A script that was stopped may have left too much in `used`, or
    -- clients without a time to live; something else may be kept there.
    redis.call('HDEL', lock.hash, '')
    if (tonumber(redis.pcall('ZCARD', lock.clients)) or 0) > 0 then
      outlive(lock.clients, 2 * WINDOW)
    end
    if lock.used > 0 then
      lock.ends = math.min(lock.ends, lock.now)
    end
    -- Or it has granted the lock to the head of the queue without telling it.
    local waiting = headClient(lock)
    if waiting then
      tell(lock, waiting, 'look ' .. lock.hash)
    end
  end
  expire(lock)
  pass(lock, client)
  tellHead(lock, client)
  local why = how == 'why' and blocker(lock) or nil
  close(lock)
  return reply(lock, client, { answer, why })
end

return answerRest(answers, usual, finish)

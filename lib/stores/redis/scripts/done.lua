-- A request has ended: its hold ends, or it leaves the line. Who is next gets the lock. Repeating it changes nothing.
--
-- KEYS  [1] hash  [2] queue  [3] clients; for several locks, three keys each
-- ARGV  [1] id of the request: all there is for the end of a usual hold
--       [2] its terms and label, '' if it cannot be in line  [3] what else:
--       ''       nothing
--       'leave'  it gave up before it had the lock, as far as its client knows: the answer tells what blocks the lock; the first of a
--                batch keeps the lock until its client has given the others their places back (rule 9); [4] 'mark': as 'mark', too
--       'mark'   a copy of its acquire may still be under way and must do nothing: leaves a mark for MARK ms
--       'keep'   [4] ms, counted from the grant, for which no request gets what it held
--       'force'  it belongs to another client, which is told; [4] … more ids
--       For several locks, one request each: one value for every one, or four.
-- Returns 1: it held the lock alone, and nobody waits
--       or a reply (includes/reply.lua) with one answer: held, line N, none, or batch (it is the first of one); after it, for 'leave', the blocker
--       For several locks, an array with one of these for each, or the text of FORMAT or PROTOCOL: nothing was written to that lock.
-- Errors FORMAT, PROTOCOL before any write
local count, answers = #KEYS / 3, {}
local words = #ARGV / count

-- The usual case: the only holder releases the lock, and nobody waits. The hash of such a lock has two fields.
local function endUsual(first, id)
  if words == 1 and redis.call('EXISTS', KEYS[first + 1]) == 0 and redis.call('HLEN', KEYS[first]) == 2
    and redis.call('HEXISTS', KEYS[first], 'h:' .. id) == 1 then
    return redis.call('DEL', KEYS[first])
  end
end

for i = 1, count do
  answers[i] = endUsual(3 * i - 2, ARGV[i])
  if not answers[i] then
    break
  end
end
if #answers == count then
  return count == 1 and answers[1] or answers
end

--- include: lock
--- include: terms
--- include: holders
--- include: blocker
--- include: strict
--- include: pass
--- include: reply
--- include: several
-- A hash with more fields may have old marks.
local MANY = 100
local time = redis.call('TIME')

-- The answer for the lock whose keys begin at KEYS[first], or nil and the text of an error.
local function finish(first, values)
  local id, about, how = values[1], values[2] or '', values[3] or ''
  local client = string.match(id, '^[^:]+')
  local lock, problem = open(time, first, id)
  if problem == UNREADABLE and how == 'force' then
    redis.call('DEL', KEYS[first])
    lock, problem = open(time, first, id)
  end
  if problem then
    return nil, problem
  end
  local answer, changed = 'none', false
  if how == 'force' then
    client = ''
    table.remove(values, 3)
    table.remove(values, 2)
    for _, one in ipairs(values) do
      local value = redis.call('HGET', lock.hash, 'h:' .. one)
      if value then
        drop(lock, one, value)
        answer, changed = 'held', true
        local owner, sequence = string.match(one, '^([^:-]+):(%d+)$')
        if owner then
          tell(lock, owner, 'lost ' .. sequence .. ' ' .. number(readHold(value).token) .. ' ' .. lock.hash)
        end
      end
    end
  else
    local value = lock.held
    local isFirst = value and how == 'leave' and lock.rest > 0
    local rank = not value and about ~= '' and redis.call('ZRANK', lock.queue, id .. ':' .. about)
    if isFirst then
      answer = 'batch'
    elseif value then
      drop(lock, id, value)
      answer, changed = 'held', true
      local was = how == 'keep' and readHold(value)
      local ends = was and math.ceil(was.token / 1000) + tonumber(values[4])
      if was and ends > lock.now then
        -- A late copy of its acquire may have granted it again.
        local kept = redis.call('HGET', lock.hash, 'h:-' .. id)
        if kept then
          drop(lock, '-' .. id, kept)
        end
        take(lock, was.terms)
        setHold(lock, '-' .. id, ends, string.match(value, '^%d+ (.*)$'))
      end
    elseif rank then
      redis.call('ZREM', lock.queue, id .. ':' .. about)
      answer, changed = 'line ' .. rank + lock.rest, rank == 0
    end
    if answer == 'none' or answer == 'batch' then
      -- A write that is allowed when memory is full comes first (rule 10).
      redis.call('HDEL', lock.hash, '')
    end
    if how == 'mark' or how == 'leave' and values[4] == 'mark' then
      redis.call('HSET', lock.hash, 'x:' .. id, lock.now + MARK)
      lock.life = math.max(lock.life, MARK)
      if redis.call('HLEN', lock.hash) > MANY then
        -- `expire` clears old marks away, also of a lock that is never at rest.
        lock.ends = math.min(lock.ends, lock.now)
      end
    end
  end
  expire(lock)
  if changed or lock.used == 0 then
    pass(lock, client)
  end
  if how == 'keep' and lock.used > 0 then
    -- Waiters know when to ask again, and that has changed: tell them to ask now.
    local told = {}
    for _, name in ipairs(redis.call('ZRANGE', lock.queue, 0, MOST_ENTRIES - 1)) do
      local waiter = string.match(name, '^[^:]+')
      if not told[waiter] then
        told[waiter] = true
        tell(lock, waiter, 'look ' .. lock.hash)
      end
    end
  end
  local why = how == 'leave' and blocker(lock) or nil
  close(lock)
  return reply(lock, client, { answer, why })
end

return answerRest(answers, words, endUsual, finish)

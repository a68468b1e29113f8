-- Asks for the lock: it is granted, or each request gets a place in line. Repeating it changes nothing.
--
-- KEYS  [1] hash  [2] queue  [3] clients
-- ARGV  [1] id of a request  [2] its terms and label: all there is for one plain request that waits as long as it takes.
--       Otherwise four values for each request: id, terms and label, 'try' or the most that may wait before it ('': any number), its
--       ticket ('': it has none yet). Several together are plain, of one client, and waited for.
-- Returns the token alone: the lock was free, and is granted for LEASE ms
--       or a reply (includes/reply.lua) with an answer for each request:
--       granted         see the reply's own third value
--       held LEFT TOKEN it holds the lock since an earlier copy of this command
--       line TICKET N   it is in line, N are served before it
--       full N          N wait, more than it accepts; it is not in line
--       busy BLOCKER    a try that was not admitted (includes/blocker.lua)
--       over            it was given up (a mark of `done`)
-- Errors OOM if memory is full and nothing could be passed on; FORMAT, PROTOCOL before any write
local time = redis.call('TIME')

-- The usual case: the lock is free. The same as below, in four calls.
if not STRICT and #ARGV == 2 and string.byte(ARGV[2]) == 58 and redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 then
  local token = string.format('%s%06d', time[1], time[2])
  local ends = time[1] * 1000 + math.floor(time[2] / 1000) + LEASE
  redis.call('HSET', KEYS[1], 'format', FORMAT .. ' ' .. token .. ' write 1 - ' .. ends .. ' 0',
    'h:' .. ARGV[1], ends .. ' ' .. token .. ' ' .. ARGV[2])
  redis.call('PEXPIRE', KEYS[1], LEASE)
  return token
end

--- include: lock
--- include: terms
--- include: holders
--- include: held
--- include: blocker
--- include: strict
--- include: line
--- include: pass
--- include: reply
local lock, problem = open(time, 1, ARGV[1])
if problem then
  return redis.error_reply(problem)
end
local client, limit, waiting = string.match(ARGV[1], '^[^:]+'), lock.limit, 0

-- Whether a request may be granted although nobody has looked at the line: it is empty.
local function isNext(terms)
  return waiting == 0 and #ARGV <= 4 and admits(lock, terms) and mayGrant(lock)
end

-- The answer for a request that does not accept the line as it is; nil: it does, or is in line.
local function refusal(name, terms, most)
  if redis.call('ZSCORE', lock.queue, name) then
    return nil
  elseif most == 'try' then
    return not admits(lock, terms) and 'busy ' .. blocker(lock) or nil
  elseif waiting < tonumber(most) then
    return nil
  end
  -- Dead requests at the head may leave.
  pass(lock, client)
  waiting = redis.call('ZCARD', lock.queue) + lock.rest
  return waiting >= tonumber(most) and not isNext(terms) and 'full ' .. waiting or nil
end

expire(lock)
waiting = redis.call('ZCARD', lock.queue) + lock.rest
local answers, inLine = {}, {}
for i = 1, #ARGV, 4 do
  local id, about, most, ticket = ARGV[i], ARGV[i + 1], ARGV[i + 2] or '', ARGV[i + 3] or ''
  local name, terms, answer = id .. ':' .. about, readTerms(string.match(about, '^[^:]*')), nil
  local held, mark = lock.held, lock.mark
  if i > 1 then
    held, mark = unpack(redis.call('HMGET', lock.hash, 'h:' .. id, 'x:' .. id))
  end
  if held then
    answer = describeHeld(lock, held)
  elseif mark then
    answer = 'over'
  else
    lock.limit = terms.limit or lock.limit
    if isNext(terms) then
      hold(lock, id, about, terms, LEASE)
      lock.granted[client] = { token = lock.token, left = LEASE, string.match(id, '%d+$') }
      answer = 'granted'
    else
      -- One with a ticket was accepted before.
      answer = most ~= '' and ticket == '' and refusal(name, terms, most) or nil
      if answer then
        lock.limit = limit
      else
        inLine[#answers + 1] = { name = name, most = most, rank = waiting, ticket = enter(lock, client, name, ticket) }
        waiting = waiting + 1
      end
    end
  end
  answers[#answers + 1] = answer or 'line'
end
if next(inLine) then
  pass(lock, client)
end
for i, entry in pairs(inLine) do
  local ticket, rank = entry.ticket, entry.rank
  if lock.moved or not ticket then
    local score = redis.call('ZSCORE', lock.queue, entry.name)
    ticket, rank = score and number(score), redis.call('ZRANK', lock.queue, entry.name)
    rank = rank and rank + lock.rest
  end
  if not ticket then
    answers[i] = 'granted'
  elseif entry.most == 'try' then
    redis.call('ZREM', lock.queue, entry.name)
    lock.limit = limit
    answers[i] = 'busy ' .. blocker(lock)
  else
    answers[i] = 'line ' .. ticket .. ' ' .. rank
  end
end
close(lock)
return reply(lock, client, answers)

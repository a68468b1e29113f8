-- Asks for the lock: it is granted, or each request gets a ticket and a place in the queue. Repeating it changes nothing.
--
-- KEYS  [1] hash  [2] queue  [3] clients; for several locks, see includes/several.lua
-- ARGV  [1] id of a request  [2] its terms and label: all there is for one request that waits as long as it takes
--       [3] 'try' or maxQueue ('': any number)  [4] its ticket ('': it has none yet)
--       For several requests of one lock, four values for each: they are of one client.
-- GIVEN  FORMAT, LEASE, ROW, STRICT, WINDOW
-- Returns the token alone: the lock was free, and is granted for LEASE ms, or the request's own fixed lease
--       or a reply (includes/reply.lua) with an answer for each request:
--       granted         see the reply's own third value
--       held LEFT TOKEN it holds the lock since an earlier copy of this command
--       line TICKET N   it is in the queue, N are served before it
--       full N          N wait, more than it accepts; it is not in the queue
--       busy BLOCKER    a try that was not admitted (includes/blocker.lua)
--       For several locks, an array with one of these for each, or the text of FORMAT or PROTOCOL: nothing was written to that lock.
-- Errors OOM if memory is full and nothing could be passed on; FORMAT, PROTOCOL before any write
--- include: clock
-- The lock is free, and nothing is left of it. The same as below, in four calls.
local function usual(first, words, id, about, ticket)
  if STRICT or words ~= 2 and (words ~= 4 or ticket ~= '') or redis.call('EXISTS', KEYS[first], KEYS[first + 1], KEYS[first + 2]) > 0 then
    return nil
  end
  local lease, held = LEASE, ' write 1 - '
  if string.byte(about) ~= 58 then
    local terms = string.match(about, '^[^:]*')
    local weight, permits = string.match(terms, '^p(%d+)/(%d+)')
    held = weight and ' permits ' .. weight .. ' ' .. permits .. '*1 ' or string.byte(terms) == 114 and ' read 1 - ' or held
    lease = tonumber(string.match(terms, 'f(%d+)') or LEASE)
  end
  local ends = now + lease
  if ends >= 1e14 then
    -- Lua would write it with an exponent.
    return nil
  end
  local token = time[1] .. string.sub(1000000 + time[2], 2)
  redis.call('HSET', KEYS[first], 'format', FORMAT .. ' ' .. token .. held .. ends, 'h:' .. id, ends .. ' ' .. token .. ' ' .. about)
  redis.call('PEXPIRE', KEYS[first], lease)
  return token
end

--- include: usual
--- include: lock
--- include: terms
--- include: holders
--- include: held
--- include: blocker
--- include: strict
--- include: queue
--- include: pass
--- include: reply
--- include: several
-- Whether a request may be granted although nobody has looked at the queue: it is empty.
local function isNext(lock, waiting, terms)
  return waiting == 0 and admits(lock, terms) and mayGrant(lock)
end

-- Asks which clients in the queue listen: those that do not have SILENCE ms to call (rule 7). At most once in that time for each lock, for
-- it looks at the whole queue.
local function askWhoListens(lock)
  local askedAt = tonumber(redis.call('HGET', lock.hash, 'asked') or 0)
  if math.abs(lock.now - askedAt) <= SILENCE then
    return
  end
  set(lock, 'asked', number(lock.now))
  local isKnown, clients, channels = {}, {}, {}
  for _, name in ipairs(redis.call('ZRANGE', lock.queue, 0, MOST_ENTRIES - 1)) do
    local client, terms = string.match(name, '^([^:]+):%d+:([^:]*)')
    if client and not isKnown[client] and string.sub(terms, -1) ~= 'u' then
      isKnown[client] = true
      clients[#clients + 1], channels[#channels + 1] = client, channelOf(lock, client)
    end
  end
  local counts = redis.pcall('PUBSUB', 'NUMSUB', unpack(channels))
  for i, client in ipairs(clients) do
    if counts[2 * i] == 0 then
      redis.call('ZADD', lock.clients, 'XX', 'LT', lock.now + SILENCE, client)
    end
  end
end

-- The answer for a request that does not accept the queue as it is; nil: it does, or is in it. How many wait then.
local function refusal(lock, client, waiting, name, terms, most)
  if redis.call('ZSCORE', lock.queue, name) then
    return nil, waiting
  elseif most == 'try' then
    return not admits(lock, terms) and 'busy ' .. blocker(lock) or nil, waiting
  elseif waiting < tonumber(most) then
    return nil, waiting
  end
  if not lock.isSwept then
    lock.isSwept = true
    askWhoListens(lock)
    sweep(lock)
  end
  pass(lock, client)
  waiting = redis.call('ZCARD', lock.queue)
  return waiting >= tonumber(most) and not isNext(lock, waiting, terms) and 'full ' .. waiting or nil, waiting
end

-- Looks up the requests behind the first. The result has the hold of the request at values[i] at (i - 1) / 4.
local function recordsOf(lock, values)
  local fields = {}
  for i = 5, #values, 4 do
    fields[#fields + 1] = 'h:' .. values[i]
  end
  return #fields > 0 and redis.call('HMGET', lock.hash, unpack(fields)) or {}
end

-- The answer for the lock whose keys begin at KEYS[first], or nil and the text of an error.
local function ask(first, values)
  local lock, problem = open(first, values[1])
  if problem then
    return nil, problem
  end
  expire(lock)
  -- A script that was stopped may have left clients of a free lock, without a time to live.
  lock.isStale = not lock.state and redis.call('EXISTS', lock.clients) == 1
  local client, waiting = string.match(values[1], '^[^:]+'), redis.call('ZCARD', lock.queue)
  local told, inQueue, records = {}, {}, recordsOf(lock, values)
  for i = 1, #values, 4 do
    local id, about, most, ticket = values[i], values[i + 1], values[i + 2] or '', values[i + 3] or ''
    local name, terms, answer = id .. ':' .. about, readTerms(string.match(about, '^[^:]*')), nil
    local held = i > 1 and records[(i - 1) / 4] or i == 1 and lock.held
    if held then
      answer = describeHeld(lock, held)
    else
      if #values <= 4 and isNext(lock, waiting, terms) then
        lock.granted[client] = { token = hold(lock, id, about, terms, LEASE), left = LEASE, string.match(id, '%d+$') }
        answer = 'granted'
      else
        -- One with a ticket was accepted before.
        if most ~= '' and ticket == '' then
          answer, waiting = refusal(lock, client, waiting, name, terms, most)
        end
        if not answer then
          inQueue[#told + 1] = { name = name, most = most, rank = waiting + lock.gone, ticket = enter(lock, client, name, ticket) }
          waiting = waiting + 1
        end
      end
    end
    told[#told + 1] = answer or 'line'
  end
  if next(inQueue) then
    if lock.isNew then
      -- Else a lock that is never idle would keep all clients that it has ever seen.
      sweep(lock)
    end
    pass(lock, client)
  end
  for i, entry in pairs(inQueue) do
    -- The entries that have left were in front of it.
    local isLeft, ticket, rank = lock.left[entry.name], entry.ticket, entry.rank - lock.gone
    if not ticket and not isLeft then
      local score = redis.call('ZSCORE', lock.queue, entry.name)
      ticket, rank = score and number(tonumber(score)), redis.call('ZRANK', lock.queue, entry.name)
    end
    if isLeft or not ticket then
      told[i] = 'granted'
    elseif entry.most == 'try' then
      redis.call('ZREM', lock.queue, entry.name)
      told[i] = 'busy ' .. blocker(lock)
    else
      told[i] = 'line ' .. ticket .. ' ' .. rank
    end
  end
  tellHead(lock, client)
  close(lock)
  return reply(lock, client, told)
end

return answerRest(answers, usual, ask)

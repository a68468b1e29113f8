-- Who holds locks and who waits. Writes nothing.
--
-- KEYS  of each lock: hash, queue, clients
-- ARGV  of each lock: how many holders and waiters to name
-- GIVEN  FORMAT, WINDOW
-- Returns for each lock { time in ms, mode ('' if nothing is held), used, limit ('' if none), { field, value … } of the holds, how many wait,
--       { name, ticket … } of those in the queue, { client, until when it counts as alive … } of these,
--       { channel, how many listen … } of the clients of both that Redis can count, the token that was given last }
-- Errors FORMAT, PROTOCOL
--- include: lock
--- include: terms
--- include: holders
--- include: several
local function look(first, values)
  local most, lock, problem = tonumber(values[1]), open(first)
  if problem then
    return nil, problem
  end
  local holds, clients, channels, isKnown, isCounted = {}, {}, {}, {}, {}
  local function count(client, terms)
    if not isCounted[client] and string.sub(terms, -1) ~= 'u' then
      isCounted[client] = true
      channels[#channels + 1] = channelOf(lock, client)
    end
  end
  local limit = smallestLimit(lock)
  eachHold(lock, most, function(id, value)
    holds[#holds + 1], holds[#holds + 2] = 'h:' .. id, value
    count(string.match(id, '^-?([^:]*)'), string.match(value, '^%d+ %d+ ([^:]*):') or '')
    return #holds >= 2 * most
  end)
  local line = redis.call('ZRANGE', lock.queue, 0, most - 1, 'WITHSCORES')
  for i = 1, #line, 2 do
    local client, terms = string.match(line[i], '^([^:]*):[^:]*:?([^:]*)')
    count(client or '', terms or '')
    if client and not isKnown[client] then
      isKnown[client] = true
      clients[#clients + 1], clients[#clients + 2] = client, redis.call('ZSCORE', lock.clients, client) or '0'
    end
  end
  local listeners = redis.pcall('PUBSUB', 'NUMSUB', unpack(channels))
  return {
    number(lock.now), lock.mode or '', number(lock.used), limit and number(limit) or '',
    holds, redis.call('ZCARD', lock.queue), line, clients, listeners.err and {} or listeners, number(lock.token),
  }
end

return answerRest({}, nil, look)

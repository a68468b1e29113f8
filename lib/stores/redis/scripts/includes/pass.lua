-- Passing the lock on to the head of the queue, and taking out of the queue who is gone.

-- A call looks at this many entries at most, in pages.
local MOST_ENTRIES, PAGE = 1000, 64
-- For so long a client that does not listen may stay silent before its requests leave the queue, ms.
local SILENCE = 250
-- The first lease of a grant that goes out by message (rule 4).
local FIRST_LEASE = math.min(WINDOW, LEASE)

-- Whether a client that waits can take a grant: 'here'; 'deaf', nobody listens to its channel; or 'gone', it has not called for too long.
local function reach(lock, client, isUncounted)
  local found = lock.reached[client]
  if not found then
    local alive = tonumber(redis.call('ZSCORE', lock.clients, client) or 0)
    if alive < lock.now then
      found = 'gone'
    elseif isUncounted or (redis.pcall('PUBSUB', 'NUMSUB', channelOf(lock, client))[2] or 1) > 0 then
      found = 'here'
    else
      found, lock.hasDeaf = 'deaf', true
      redis.call('ZADD', lock.clients, 'XX', 'LT', lock.now + SILENCE, client)
    end
    lock.reached[client] = found
  end
  return found
end

-- Takes names out of the queue, after all that has been written of them.
local function leave(lock, names)
  if #names > 0 then
    flush(lock)
    inParts('ZREM', lock.queue, names)
    for _, name in ipairs(names) do
      lock.left[name] = true
    end
    -- If that was all, the next to enter makes a new queue, which needs a time to live.
    lock.gone, lock.isQueueKept = lock.gone + #names, false
  end
end

-- Takes out of the queue the requests of clients that have not called for too long, whatever is held (rule 7). Costs one call unless a
-- client is gone; then a look at the queue, and the client leaves `clients`, so that the next caller does not look again.
local function sweep(lock)
  local earliest = redis.call('ZRANGE', lock.clients, '0', '0', 'WITHSCORES')[2]
  if not earliest or tonumber(earliest) >= lock.now then
    return
  end
  local isGone, names = {}, {}
  local clients = redis.call('ZRANGE', lock.clients, 0, MOST_ENTRIES - 1, 'WITHSCORES')
  for i = 1, #clients, 2 do
    isGone[clients[i]] = tonumber(clients[i + 1]) < lock.now
  end
  for _, name in ipairs(redis.call('ZRANGE', lock.queue, 0, MOST_ENTRIES - 1)) do
    local client = string.match(name, '^([^:]+):%d+:')
    if not client or isGone[client] then
      names[#names + 1] = name
    end
  end
  leave(lock, names)
  redis.call('ZREMRANGEBYSCORE', lock.clients, '-inf', '(' .. number(lock.now))
end

-- The sequence of an entry that may have its turn under a hold of the client, or nil.
local function joins(client, name)
  return string.sub(name, 1, #client + 1) == client .. ':' and string.match(name, '^[^:]+:(%d+):u?:')
end

-- Grants the entry at `rank` of the queue. Its plain neighbours of the same client may have their turns under its hold (rule 9).
-- `behind`: the next entry, nil: none is known.
local function give(lock, name, behind, rank, client, terms, lease)
  local sequence, about = string.match(name, '^[^:]+:(%d+):(.*)$')
  local id = client .. ':' .. sequence
  if redis.call('HEXISTS', lock.hash, 'h:' .. id) == 1 then
    -- A script that granted it was stopped before it had left the queue.
    return
  end
  local gain = lock.granted[client] or { left = lease }
  lock.granted[client] = gain
  gain[#gain + 1] = sequence
  local kept = 0
  if terms.isPlain and behind and joins(client, behind) then
    for _, other in ipairs(redis.call('ZRANGE', lock.queue, rank + 1, rank + ROW - 1)) do
      local neighbour = joins(client, other)
      if not neighbour then
        break
      end
      kept = kept + 1
      gain[#gain + 1] = neighbour
    end
  end
  gain.token = hold(lock, id, about, terms, lease, kept)
end

-- Gives the lock to the head of the queue, and on, as long as the head is admitted. Who cannot be reached is skipped (rule 7).
-- `caller` learns of its grants by the reply, others by a message.
local function pass(lock, caller)
  local rank, size, isBlocked, names = 0, 2, false, {}
  while not isBlocked and (lock.used == 0 or lock.mode ~= 'write') do
    local page = redis.call('ZRANGE', lock.queue, rank, rank + size - 1)
    for i, name in ipairs(page) do
      local client, terms = string.match(name, '^[^:]+'), readTerms(string.match(name, '^[^:]+:%d+:([^:]*)') or '')
      local found = client == caller and 'here' or reach(lock, client, terms.isUncounted)
      if found == 'gone' then
        names[#names + 1] = name
      elseif found == 'here' then
        if not admits(lock, terms) or not mayGrant(lock) then
          isBlocked = true
          break
        end
        give(lock, name, page[i + 1], rank + i - 1, client, terms, client == caller and LEASE or FIRST_LEASE)
        names[#names + 1] = name
        isBlocked = lock.mode == 'write'
        if isBlocked then
          break
        end
      end
    end
    rank = rank + #page
    if #page < size then
      break
    elseif rank >= MOST_ENTRIES then
      -- If nothing has left, the next call would see the same.
      lock.more = lock.more or not isBlocked and #names > 0
      break
    end
    size = math.min(2 * size, PAGE)
  end
  leave(lock, names)
  for client, gain in pairs(lock.granted) do
    if client ~= caller and not gain.isSent then
      gain.isSent = true
      tell(lock, client, 'granted ' .. gain.token .. ' ' .. number(gain.left) .. ' '
        .. table.concat(gain, ',') .. ' ' .. lock.hash)
    end
  end
end

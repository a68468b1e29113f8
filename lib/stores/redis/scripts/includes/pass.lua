-- Passing the lock on to the head of the line.

-- A call looks at this many entries at most, in pages.
local MOST_ENTRIES, PAGE = 1000, 64
-- How many requests of one client are granted together at most.
local MOST_TOGETHER = 64
-- For so long a client that does not listen may stay silent before its requests leave the line, ms.
local SILENCE = 250
-- The first lease of a grant that goes out by message (rule 4).
local FIRST_LEASE = math.min(WINDOW, LEASE)

-- Whether a client that waits can take a grant: 'here'; 'deaf', nobody listens to its channel; or 'gone', it has not called for too long.
local function reach(lock, client, terms)
  local found = lock.reached[client]
  if not found then
    local alive = tonumber(redis.call('ZSCORE', lock.clients, client) or 0)
    if alive < lock.now then
      found = 'gone'
    elseif terms.isUncounted or (redis.pcall('PUBSUB', 'NUMSUB', lock.prefix .. 'client:' .. client)[2] or 1) > 0 then
      found = 'here'
    else
      found = 'deaf'
      redis.call('ZADD', lock.clients, 'XX', 'LT', lock.now + SILENCE, client)
    end
    lock.reached[client] = found
  end
  return found
end

-- The sequence of an entry that may join a batch of the client, or nil.
local function joins(client, name)
  return name and string.sub(name, 1, #client + 1) == client .. ':' and string.match(name, '^[^:]+:(%d+):u?:')
end

-- Grants the entry at `rank` of the line, and with a plain one its plain neighbours of the same client (rule 9). Returns their names.
-- `behind`: the next entry, nil: none is known.
local function give(lock, name, behind, rank, client, terms, lease)
  local gain = lock.granted[client] or { left = lease }
  lock.granted[client] = gain
  local sequence, about = string.match(name, '^[^:]+:(%d+):(.*)$')
  hold(lock, client .. ':' .. sequence, about, terms, lease)
  gain.token, gain[#gain + 1] = lock.token, sequence
  local names = { name }
  if terms.isPlain and joins(client, behind) then
    for _, other in ipairs(redis.call('ZRANGE', lock.queue, rank + 1, rank + MOST_TOGETHER - 1)) do
      local another = joins(client, other)
      if not another then
        break
      end
      gain[#gain + 1], names[#names + 1] = another, other
    end
    lock.rest = #names - 1
    lock.token = lock.token + lock.rest
  end
  return names
end

-- Gives the lock to the head of the line, and on, as long as the head is admitted. Who cannot be reached is skipped (rule 7).
-- `caller` learns of its grants by the reply, others by a message.
local function pass(lock, caller)
  local rank, looked, size, isBlocked = 0, 0, 2, false
  while not isBlocked and (lock.used == 0 or lock.mode ~= 'write') do
    local page, leave = redis.call('ZRANGE', lock.queue, rank, rank + size - 1), {}
    for i, name in ipairs(page) do
      local client, terms = string.match(name, '^[^:]+'), readTerms(string.match(name, '^[^:]+:%d+:([^:]*)') or '')
      if not admits(lock, terms) or not mayGrant(lock) then
        isBlocked = true
        break
      end
      local found = client == caller and 'here' or reach(lock, client, terms)
      if found == 'deaf' then
        rank = rank + 1
      elseif found == 'gone' then
        leave[#leave + 1] = name
      else
        local granted = give(lock, name, page[i + 1], rank + #leave, client, terms, client == caller and LEASE or FIRST_LEASE)
        for _, one in ipairs(granted) do
          leave[#leave + 1] = one
        end
      end
    end
    if #leave > 0 then
      redis.call('ZREM', lock.queue, unpack(leave))
      lock.moved = true
    end
    looked = looked + #page
    if #page < size then
      break
    elseif looked >= MOST_ENTRIES then
      -- If nothing has left, the next call would see the same.
      lock.more = not isBlocked and lock.moved
      break
    end
    size = math.min(2 * size, PAGE)
  end
  for client, gain in pairs(lock.granted) do
    if client ~= caller and not gain.isSent then
      gain.isSent = true
      tell(lock, client, 'granted ' .. number(gain.token) .. ' ' .. number(gain.left) .. ' '
        .. table.concat(gain, ',') .. ' ' .. lock.hash)
    end
  end
end

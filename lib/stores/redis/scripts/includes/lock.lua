-- One lock as a script sees it: opened from its hash, written back by `close`. The hash has a field `format`, which is
-- `<format> <token> <mode> <used> <limits> <end>`, with a `k` behind the end if it is that of a part which holdAtLeast keeps, and ` <scan> <least>` if a look at all holders has not ended; '-': none.
--
-- Any command of a script may be its last: a right may be withdrawn, or the script killed. So a hold that ends is removed first; then the
-- state and the new holds are written, by one command; then entries leave the queue; messages go out at the end. A script that was stopped
-- has at most left too much in `used`, which the next `expire` counts anew, or an entry that is held and in the queue, which `give` and a
-- heartbeat find.

-- Given by the store (`scriptsOf`): FORMAT, the version of these data; LEASE of a hold and WINDOW in which a waiting client must call, ms;
-- ROW, how many requests one hold serves at most; STRICT, the longest lease of a strict client, ms; nil: the client is not strict.

--- include: clock
--- include: number
--- include: limits

local UNREADABLE = 'PROTOCOL the data of the lock cannot be read'
-- How many values one command gets at most: Lua cannot pass on more than some thousands.
local MOST_VALUES = 1000

-- The lock whose keys begin at KEYS[first], or nil and the text of an error. `id`: a request of which to tell what the hash has.
local function open(first, id)
  local hash = KEYS[first]
  local found = redis.call('HMGET', hash, 'format', 'h:' .. (id or ''))
  local state, held = found[1], found[2]
  local format, token, mode, used, limits, ends, kept, rest
  if state then
    format, token, mode, used, limits, ends, kept, rest = string.match(state, '^(%d+) (%d+) (%S+) (%d+) (%S+) ([%d-]+)(k?)(.*)$')
    format = format or string.match(state, '^%d+')
    if format and format ~= FORMAT then
      return nil, 'FORMAT ' .. format .. ' ' .. FORMAT
    end
    ends = tonumber(ends)
    if not token or mode ~= '-' and not ends then
      return nil, UNREADABLE
    end
  end
  local scan, least
  if rest and rest ~= '' then
    scan, least = string.match(rest, '^ (%S+) (%S+)$')
  end
  return {
    hash = hash, queue = KEYS[first + 1], clients = KEYS[first + 2],
    now = now, micros = micros,
    -- The last token that was given or kept for a neighbour, 0 if none is known; the same as text.
    token = token and tonumber(token) or 0, tokenText = token,
    -- How it is held: 'write' (alone), 'read', 'permits'; nil: nothing is held.
    mode = mode ~= '-' and mode or nil,
    -- The sum of the weights that are held.
    used = used and tonumber(used) or 0,
    -- How many holds have each number of permits; `limit`, the smallest of them, nil: not known.
    limits = mode == 'permits' and readLimits(limits) or {},
    -- No lease ends before this time, ms.
    ends = ends or math.huge, endedAt = ends or math.huge,
    -- Whether that is the end of a part which holdAtLeast keeps.
    isKept = kept == 'k',
    -- Where `expire` goes on, and the earliest end that it has seen.
    scan = scan, least = least and tonumber(least) or math.huge,
    -- The hold of the request `id`; false: it has none.
    held = held,
    -- The state as it was read or written last, false: there was none; whether it is another one now.
    state = state, hasChanged = not state,
    -- Field, value … still to be written; the first is the state.
    fields = { 'format', false },
    -- How long the hash must live for what this call writes, ms.
    life = 0,
    -- What this call grants, by client: { token, left, sequence … }.
    granted = {},
    -- What this call has found of a client: 'here', 'deaf' or 'gone'; whether any was deaf.
    reached = {}, hasDeaf = false,
    -- Channel, text … to be sent at the end.
    messages = {},
    -- The caller was not in `clients`; this call has put it into the queue; how many entries, and which, it has taken out by `leave`; it has found clients of a lock
    -- of which nothing else is left.
    isNew = false, entered = false, gone = 0, left = {}, isStale = false,
    -- `isQueueKept`: whether this call has seen to the time to live of the queue; false: of one that may have emptied since; nil: it has not.
    -- This call has looked for clients that are gone, for a request that found the queue full.
    isSwept = false,
    -- A request has ended its place in the queue.
    hasLeft = false,
    -- The queue was not looked at to its end.
    more = false,
  }
end

-- The channel of a client. All channels and keys begin with the same prefix.
local function channelOf(lock, client)
  return string.match(lock.hash, '^[^{]*') .. 'client:' .. client
end

-- Sends a message to a client when all that it tells is written.
local function tell(lock, client, text)
  lock.messages[#lock.messages + 1] = { channelOf(lock, client), text }
end

-- Lets a key live for at least `ms`: for longer, so that the next calls need not write that.
local function outlive(key, ms)
  local isShort = redis.call('PTTL', key) < ms
  if isShort then
    redis.call('PEXPIRE', key, ms + WINDOW)
  end
  return isShort
end

-- Calls a command with any number of values.
local function inParts(command, key, values)
  for from = 1, #values, MOST_VALUES do
    redis.call(command, key, unpack(values, from, math.min(from + MOST_VALUES - 1, #values)))
  end
end

-- Writes a field of the hash by the end of the call.
local function set(lock, field, value)
  lock.fields[#lock.fields + 1], lock.fields[#lock.fields + 2] = field, value
end

-- Lets the hash live for as long as what this call writes.
local function keepAlive(lock)
  if lock.life > 0 then
    outlive(lock.hash, lock.life)
    lock.life = 0
  end
end

-- Writes the state and the holds that are not written yet.
local function flush(lock)
  local fields = lock.fields
  if lock.hasChanged then
    if lock.token == 0 then
      -- Whatever was granted before the hash was lost has a lower token than what is granted from now on.
      lock.token, lock.tokenText = lock.micros, number(lock.micros)
    end
    local state = FORMAT .. ' ' .. lock.tokenText
    if lock.used == 0 then
      lock.mode, lock.scan, lock.limits, lock.limit = nil, nil, {}, nil
      state = state .. ' - 0 - -'
    else
      state = state .. ' ' .. lock.mode .. ' ' .. number(lock.used) .. ' ' .. limitsText(lock.limits) .. ' ' .. number(lock.ends)
        .. (lock.isKept and 'k' or '')
      if lock.scan then
        state = state .. ' ' .. lock.scan .. ' ' .. number(math.min(lock.least, 2 ^ 53))
      end
    end
    if lock.state then
      keepAlive(lock)
    else
      lock.life = math.max(lock.life, 2 * WINDOW)
    end
    lock.state = state
  end
  if lock.hasChanged or #fields > 2 then
    -- The state comes first: it must not count less than there is.
    fields[2] = lock.state
    inParts('HSET', lock.hash, fields)
    lock.fields, lock.hasChanged = { 'format', false }, false
  end
  keepAlive(lock)
end

-- Deletes a lock that is neither held nor waited for.
local function clear(lock)
  local ahead = math.min(math.ceil((lock.token - lock.micros) / 1000), WINDOW)
  if ahead > 0 then
    -- Tokens that were kept for neighbours run ahead of the clock: until it has caught up, the next token could be lower.
    flush(lock)
    redis.call('PEXPIRE', lock.hash, ahead + 1)
  else
    redis.call('DEL', lock.hash)
  end
end

-- Writes the lock back, and sends the messages.
local function close(lock)
  local isEmpty = (lock.used == 0 or lock.isStale) and redis.call('EXISTS', lock.queue) == 0
  if isEmpty then
    -- While it is held the clients stay: the next in the queue may be one of them. Something else may be kept there.
    redis.pcall('ZREMRANGEBYSCORE', lock.clients, '-inf', '+inf')
  end
  if lock.used > 0 or not isEmpty then
    flush(lock)
  else
    clear(lock)
  end
  for _, message in ipairs(lock.messages) do
    -- A user who may not publish must not leave a script half done: clients learn by their heartbeats, too.
    redis.pcall('PUBLISH', message[1], message[2])
  end
end

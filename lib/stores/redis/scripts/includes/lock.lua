-- One lock as a script sees it: opened from its hash, written back by `close`. The hash has a field `format`, which is
-- `<format> <token> <mode> <used> <limit> <end> <rest>`, and ` <scan> <least>` if a look at all holders has not ended; '-': none. Every version of
-- the package looks at the format there, also 0.1.0, which has other fields beside it.

--- include: number

local UNREADABLE = 'PROTOCOL the data of the lock cannot be read'

-- The lock whose keys begin at KEYS[first], or nil and the text of an error. `id`: a request of which to tell what the hash has.
--   prefix       what all keys and channels begin with
--   now, micros  time of Redis, ms and µs
--   token        the last that was given, 0 if none is known
--   mode         how it is held: 'write' (alone), 'read', 'permits'; nil: nothing is held
--   used         the sum of the weights that are held
--   limit        permits of the request that joined the line or was granted last
--   ends         no lease ends before this time, ms
--   rest         of a batch, how many have had no turn yet
--   life         how long the hash must live for what this call writes, ms
--   held, mark   the hold and the mark of the request `id`; false: it has none
--   state        as it was read; false: there was none
--   fields       what `close` writes, beside it
--   granted      what this call grants, by client: { token, left, sequence … }
--   reached      what this call has found of a client: 'here', 'deaf' or 'gone'
--   scan, least  where `expire` goes on, and the earliest end that it has seen
--   moved        this call has taken entries out of the line
--   more         the line was not looked at to its end
local function open(time, first, id)
  local hash = KEYS[first]
  local state, held, mark = unpack(redis.call('HMGET', hash, 'format', 'h:' .. (id or ''), 'x:' .. (id or '')))
  local token, mode, used, limit, ends, rest, scan, least
  if state then
    local format = string.match(state, '^%d+')
    token, mode, used, limit, ends, rest, scan, least = string.match(state, '^%d+ (%d+) (%S+) (%d+) (%S+) (%S+) (%d+) ?(%S*) ?(%S*)$')
    if format and format ~= FORMAT then
      return nil, 'FORMAT ' .. format .. ' ' .. FORMAT
    elseif not (token and (mode == '-' or tonumber(ends))) then
      return nil, UNREADABLE
    end
  end
  return {
    hash = hash, queue = KEYS[first + 1], clients = KEYS[first + 2], prefix = string.match(hash, '^[^{]*'),
    now = time[1] * 1000 + math.floor(time[2] / 1000), micros = time[1] * 1000000 + time[2],
    token = tonumber(token or 0), mode = mode ~= '-' and mode or nil, used = tonumber(used or 0), limit = tonumber(limit),
    ends = tonumber(ends) or math.huge, rest = tonumber(rest or 0), life = 0, scan = scan ~= '' and scan or nil, least = tonumber(least) or math.huge,
    held = held, mark = mark, state = state, fields = {}, granted = {}, reached = {},
  }
end

-- Sends a message to a client. A user who may not publish must not leave a script half done: clients learn by their heartbeats, too.
local function tell(lock, client, text)
  redis.pcall('PUBLISH', lock.prefix .. 'client:' .. client, text)
end

-- Lets a key live for at least `ms`: for longer, so that the next calls need not write that.
local function outlive(key, ms)
  local isShort = redis.call('PTTL', key) < ms
  if isShort then
    redis.call('PEXPIRE', key, number(ms + WINDOW))
  end
  return isShort
end

-- Writes a field of the hash by the end of the call.
local function set(lock, field, value)
  lock.fields[#lock.fields + 1], lock.fields[#lock.fields + 2] = field, value
end

-- Writes it now, for a look at the whole hash.
local function flush(lock)
  if #lock.fields > 0 then
    redis.call('HSET', lock.hash, unpack(lock.fields))
    lock.fields = {}
  end
end

-- Writes the lock back. One that is neither held nor waited for is deleted, unless marks of `done` are left in it.
local function close(lock)
  if lock.used == 0 then
    lock.mode, lock.scan, lock.rest = nil, nil, 0
    if redis.call('EXISTS', lock.queue) == 0 then
      lock.limit = nil
      if #lock.fields == 0 and redis.call('HLEN', lock.hash) <= (lock.state and 1 or 0) then
        redis.call('DEL', lock.hash)
        return
      end
    end
  end
  -- Whatever was granted before the hash was lost has a lower token than what is granted from now on.
  lock.token = lock.token == 0 and lock.micros or lock.token
  local state = string.format('%s %.0f %s %.0f %s %s %d', FORMAT, lock.token, lock.mode or '-', lock.used,
    lock.limit and number(lock.limit) or '-', lock.used > 0 and number(lock.ends) or '-', lock.rest)
  if lock.scan then
    state = state .. ' ' .. lock.scan .. ' ' .. number(math.min(lock.least, 2 ^ 53))
  end
  if state ~= lock.state then
    set(lock, 'format', state)
  end
  flush(lock)
  if not lock.state then
    lock.life = math.max(lock.life, 2 * WINDOW)
  end
  if lock.life > 0 then
    outlive(lock.hash, lock.life)
  end
end

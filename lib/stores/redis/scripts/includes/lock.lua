-- One lock as a script sees it: opened from its hash, written back by `close`.

--- include: number

local UNREADABLE = 'PROTOCOL the data of the lock cannot be read'

-- The lock whose keys begin at KEYS[first], or nil and the text of an error.
--   prefix       what all keys and channels begin with
--   now, micros  time of Redis, ms and µs
--   token        the last that was given, 0 if none is known
--   mode         how it is held: 'write' (alone), 'read', 'permits'; nil: nothing is held
--   used         the sum of the weights that are held
--   limit        permits of the request that joined the line or was granted last
--   ends         no lease ends before this time, ms
--   life         how long the hash must live for what this call writes, ms
--   granted      what this call grants, by client: { token, left, sequence … }
--   reached      what this call has found of a client: 'here', 'deaf' or 'gone'
--   scan, least  where `expire` goes on, and the earliest end that it has seen
--   more         the line was not looked at to its end
--   wasScanned, wasShared    the hash has fields that a lock which is held alone does not need
local function open(time, first)
  local hash = KEYS[first]
  local format, token, mode, used, limit, ends, scan, least =
    unpack(redis.call('HMGET', hash, 'format', 'token', 'mode', 'used', 'limit', 'end', 'scan', 'least'))
  if format and format ~= FORMAT then
    return nil, tonumber(format) and 'NEWER ' .. format .. ' ' .. FORMAT or UNREADABLE
  elseif format and not (tonumber(token) and (not mode or tonumber(ends))) then
    return nil, UNREADABLE
  end
  return {
    hash = hash, queue = KEYS[first + 1], clients = KEYS[first + 2], prefix = string.match(hash, '^[^{]*'),
    now = time[1] * 1000 + math.floor(time[2] / 1000), micros = time[1] * 1000000 + time[2],
    token = tonumber(token) or 0, mode = mode or nil, used = tonumber(used) or mode and 1 or 0, limit = tonumber(limit),
    ends = tonumber(ends) or math.huge, life = 0, scan = scan or nil, least = tonumber(least) or math.huge, wasScanned = scan,
    granted = {}, reached = {}, wasShared = used or limit,
  }
end

-- Sends a message to a client. A user who may not publish must not leave a script half done: clients learn by their heartbeats, too.
local function tell(lock, client, text)
  redis.pcall('PUBLISH', lock.prefix .. 'client:' .. client, text)
end

-- Lets a key live for at least `ms`.
local function outlive(key, ms)
  if redis.call('PTTL', key) < ms then
    redis.call('PEXPIRE', key, number(ms))
  end
end

-- Writes the lock back. One that is neither held nor waited for is deleted, unless marks of `done` are left in it.
local function close(lock)
  if redis.call('EXISTS', lock.queue) == 1 then
    lock.life = math.max(lock.life, 2 * WINDOW)
  elseif lock.used == 0 then
    redis.call('HDEL', lock.hash, 'mode', 'used', 'limit', 'end', 'scan', 'least')
    lock.scan, lock.wasScanned = nil, nil
    -- Only the format and the token are left.
    if redis.call('HLEN', lock.hash) <= 2 and redis.call('HEXISTS', lock.hash, 'format') == redis.call('EXISTS', lock.hash) then
      redis.call('DEL', lock.hash)
      return
    end
    lock.limit = nil
  end
  if lock.token == 0 then
    -- Whatever was granted before the hash was lost has a lower token than what is granted from now on.
    lock.token = lock.micros
  end
  local fields = { 'format', FORMAT, 'token', number(lock.token) }
  local function set(field, value)
    fields[#fields + 1], fields[#fields + 2] = field, value
  end
  if lock.used == 0 then
    redis.call('HDEL', lock.hash, 'mode', 'used', 'end')
  else
    set('mode', lock.mode)
    set('end', number(lock.ends))
  end
  if lock.used > 0 and lock.mode ~= 'write' then
    set('used', number(lock.used))
  elseif lock.wasShared then
    redis.call('HDEL', lock.hash, 'used')
  end
  if lock.scan then
    set('scan', lock.scan)
    set('least', number(math.min(lock.least, 2 ^ 53)))
  elseif lock.wasScanned then
    redis.call('HDEL', lock.hash, 'scan', 'least')
  end
  if lock.limit then
    set('limit', number(lock.limit))
  end
  redis.call('HSET', lock.hash, unpack(fields))
  if lock.life > 0 then
    outlive(lock.hash, lock.life)
  end
end

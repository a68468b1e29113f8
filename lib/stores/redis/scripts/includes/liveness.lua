-- Which of the waiting clients live (R6, R7, R8).
--- include: clients

local LIVE, SUSPECT, DEAD = 1, 2, 3

local serverId
local function isThisServer(id)
  if serverId == nil then
    local info = redis.pcall('INFO', 'server')
    serverId = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or false
  end
  return serverId == id
end

-- What is known of a waiting client: its verdict and its record; where its subscription is known, since when it is up (ms); of a
-- suspect since when it is that (µs) and when it was last marked alive (ms). The caller lives (R5), also before it is marked alive.
local function look(name)
  local text = recordOf(name)
  local deadline = tonumber(redis.call('ZSCORE', clients, name) or nil)
  local another = name ~= client
  if not deadline and another then
    -- Where its record is gone, too, it was silent for so long that both were swept.
    if not text then
      return { verdict = DEAD }
    end
    -- Its entry was lost (evicted): a new window and a new generation.
    deadline = now + WINDOW
    redis.call('ZADD', clients, deadline, name)
    keepLine()
    text = change(name, text, 'generation', micros)
  end
  if another and deadline < now and (deadline == 0 or not inGrace()) then
    return { verdict = DEAD }
  end
  local server, suspect = valueOf(text, 'server'), tonumber(valueOf(text, 'suspect'))
  if not suspect or server == '-' then
    -- Nothing is known of its subscription, which may just be coming back.
    return { verdict = LIVE, record = text }
  end
  local count = listeners(name)
  if count ~= 0 or not isThisServer(server) then
    if suspect ~= 0 then
      text = change(name, text, 'suspect', 0)
    end
    return { verdict = LIVE, record = text, subscribed = tonumber(valueOf(text, 'subscribed')) }
  end
  if not another then
    -- The reply to a heartbeat says that nothing listens to its channel.
    return { verdict = LIVE, record = text }
  end
  if suspect == 0 then
    suspect = micros
    change(name, text, 'suspect', suspect)
  end
  if micros - suspect >= GRACE * 1000 then
    return { verdict = DEAD }
  end
  return { verdict = SUSPECT, suspectSince = suspect, markedAt = deadline - (tonumber(valueOf(text, 'window')) or WINDOW) }
end

-- Each client is looked at once.
local verdicts = {}
local function judge(name)
  verdicts[name] = verdicts[name] or look(name)
  return verdicts[name]
end

-- R8: out of the line, with its record; a deadline of 0 marks what it still has further back as dead.
local function drop(members)
  if #members == 0 then
    return
  end
  redis.call('ZREM', queue, unpack(members))
  leaveToExpire()
  local dropped = {}
  for _, member in ipairs(members) do
    local name = nameOf(member)
    if name ~= '' and not dropped[name] then
      dropped[name] = true
      forget(name)
      redis.call('ZADD', clients, 'XX', 0, name)
    end
  end
end

-- How many entries of a full line are looked at.
local FEW = 8

-- Drops dead waiters among a few, at another place of the line each time: a refusal costs the same however long the line is, and
-- repeated requests find the dead, the sooner the more of them there are. Returns how many were dropped.
local function prune(length)
  local dead = {}
  local from = micros % math.max(1, length - FEW + 1)
  for _, member in ipairs(redis.call('ZRANGE', queue, from, from + FEW - 1)) do
    if judge(nameOf(member)).verdict == DEAD then
      dead[#dead + 1] = member
    end
  end
  drop(dead)
  return #dead
end

-- Decides which waiting clients are alive (R6, R7, R8).
--- include: clients

local LIVE, SUSPECT, DEAD = 1, 2, 3

-- Judges a waiting client. Returns its verdict and its record; if it listens on a known server, `subscribed`: since when (ms); for a
-- suspect, `suspectSince` (µs) and `markedAt`: when it was last marked alive (ms). The caller itself is always live (R5).
local function look(name)
  local text = recordOf(name)
  local deadline = tonumber(redis.call('ZSCORE', clients, name) or nil)
  local another = name ~= client
  if not deadline and another then
    -- Where its record is gone as well, the client has been silent for so long that sweep removed both.
    if not text then
      return { verdict = DEAD }
    end
    -- Its entry was lost (evicted): give it a new window and a new generation.
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
    -- The state of its subscription is unknown; it may just be coming back.
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
    -- No connection listens to the caller's channel; the reply to its heartbeat reports that.
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

-- Judges each client once per call.
local verdicts = {}
local function judge(name)
  verdicts[name] = verdicts[name] or look(name)
  return verdicts[name]
end

-- Removes dead entries from the line, with the records of their clients (R8). A deadline of 0 marks the other entries of these
-- clients, further back, as dead.
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

-- How many entries of a full line makeRoom looks at.
local FEW = 8

-- Looks at FEW entries of a line without room for one more request, at another place each time, and drops the dead ones. So a refusal
-- costs the same for any length of the line, and repeated requests find the dead waiters after a while. `others`: how many wait
-- outside the queue. Returns how long the queue is then, and whether the line is still full.
local function makeRoom(length, others, most)
  if length + others < most then
    return length, false
  end
  local dead = {}
  local from = micros % math.max(1, length - FEW + 1)
  for _, member in ipairs(redis.call('ZRANGE', queue, from, from + FEW - 1)) do
    if judge(nameOf(member)).verdict == DEAD then
      dead[#dead + 1] = member
    end
  end
  drop(dead)
  return length - #dead, length - #dead + others >= most
end

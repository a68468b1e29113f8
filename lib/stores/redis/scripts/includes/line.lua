-- The line: who is live, who is next, and the handing over (settle, pass; R5 to R8).
--
-- The script that includes this sets, before it is included:
-- guard: of a strict client, else nil (see primary.lua)
--- include: records
--- include: primary

-- R8: at most so many entries are looked at in one call.
local SWEEP = 1000
-- So many of a full line.
local FEW = 8
-- Each client has one channel, beside the locks: a prefix has no braces.
local CHANNEL = string.match(hash, '^[^{]*') .. 'client:'

-- How many connections listen to a client's channel; nil where that cannot be asked.
local function listeners(name)
  local reply = redis.pcall('PUBSUB', 'NUMSUB', CHANNEL .. name)
  if type(reply) ~= 'table' or reply.err then
    return nil
  end
  return tonumber(reply[2])
end

local serverId
local function isThisServer(id)
  if serverId == nil then
    local info = redis.pcall('INFO', 'server')
    serverId = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or false
  end
  return serverId == id
end

local LIVE, DOUBTFUL, DEAD = 1, 2, 3

-- Whose entry of the queue it is; '' if it cannot be read.
local function nameOf(member)
  return string.match(member, '^([^:]+):%d+:?%d*$') or ''
end

-- The verdict on a waiting client, since when it is doubted, when it last spoke, and its record.
local function judge(name)
  if name == '' then
    -- No client has this entry.
    return DEAD
  end
  local deadline = redis.call('ZSCORE', clients, name)
  if not deadline then
    -- Its entry was lost (evicted): a new window and a new generation. Where its record is gone, too, it has been silent for so
    -- long that both were swept.
    local _, heard, since, doubt, owner = parse(recordOf(name))
    if not heard then
      return DEAD
    end
    allow()
    deadline = now + WINDOW
    redis.call('ZADD', clients, deadline, name)
    keepLine()
    note(name, micros, heard, since, doubt, owner)
  end
  deadline = tonumber(deadline)
  if deadline < now then
    allow()
    if deadline == 0 or not inGrace() then
      return DEAD
    end
  end
  local text = recordOf(name)
  if not text or string.byte(text) == 45 then
    -- Nothing is known of its subscription, which may just be coming back.
    return LIVE
  end
  local count = listeners(name)
  local undoubted = string.find(text, '^%S+ 0 ')
  if undoubted and count and count > 0 then
    return LIVE, nil, nil, text
  end
  local generation, heard, since, doubt, owner = parse(text)
  if not generation then
    return LIVE
  end
  if count == nil or count > 0 or not isThisServer(heard) then
    if doubt ~= 0 then
      allow()
      note(name, generation, heard, since, 0, owner)
    end
    return LIVE, nil, nil, text
  end
  if callerSpoke and name == client then
    -- Whoever speaks this moment is alive (R5); that nobody listens to it is told it in the answer.
    return LIVE
  end
  if doubt == 0 then
    doubt = micros
    allow()
    note(name, generation, heard, since, doubt, owner)
  end
  if micros - doubt >= GRACE * 1000 then
    return DEAD
  end
  -- It spoke a window of its own before its deadline.
  return DOUBTFUL, doubt, deadline - string.match(owner, '%d+$')
end

-- R8: out of the line, with its record; what it still has further back is known for dead by a deadline of 0.
local function drop(members)
  if #members == 0 then
    return
  end
  wrote = true
  redis.call('ZREM', queue, unpack(members))
  local seen = {}
  for _, member in ipairs(members) do
    local name = nameOf(member)
    if name ~= '' and not seen[name] then
      seen[name] = true
      forget(name)
      redis.call('ZADD', clients, 'XX', 0, name)
    end
  end
end

-- Hands the lock to the run of `name` that begins at `rank` of the queue: `head` stands there, `behind` next to it.
local function give(name, rank, head, behind)
  local sequence, fixed = string.match(head, '^[^:]+:(%d+):?(%d*)$')
  -- The first lease is short: a waiter that died just now blocks for a window at most; its renewal makes it whole.
  local ids, count, duration, ms, places = sequence, 1, FIRST, FIRST_TTL, nil
  if fixed ~= '' then
    if tonumber(fixed) < tonumber(FIRST) then
      duration, ms = fixed, fixed + RETENTION
    end
  elseif behind and string.match(behind, '^([^:]+):%d+$') == name then
    local members = redis.call('ZRANGE', queue, rank, rank + MAX_RUN - 1, 'WITHSCORES')
    places = members[2] .. ' ' .. members[1]
    ids = { sequence }
    for i = 3, #members, 2 do
      local owner, id = string.match(members[i], '^([^:]+):(%d+)$')
      if owner ~= name then
        break
      end
      count = count + 1
      ids[count] = id
      places = places .. ' ' .. members[i + 1] .. ' ' .. members[i]
    end
    ids = table.concat(ids, ',')
  end
  wrote = true
  redis.call('ZREMRANGEBYRANK', queue, rank, rank + count - 1)
  -- Its renewal names it better; until then its record does (see whoHolds).
  grant(name, ids, count, duration, ms, '')
  if places then
    redis.call('HSET', hash, 'places', first .. ' ' .. places)
  end
  if (not behind or places) and redis.call('ZCARD', queue) == 0 then
    keep(clients, REST)
  end
  if name ~= client then
    outbox[#outbox + 1] = {
      CHANNEL .. name,
      'G ' .. stamp .. ' ' .. duration .. ' ' .. first .. ' ' .. ids .. ' ' .. hash
    }
  end
end

-- Walks the line from its head, drops the dead (R8), and calls `visit(verdict, rank, member, behind)` for each of the others
-- until that returns true. A verdict has name, verdict, doubted, spoke and record as `judge` says; `member` stands at `rank`,
-- `behind` next to it.
local function walk(visit)
  local verdicts = {}
  local rank, looked, chunk = 0, 0, 2
  while looked < SWEEP do
    local members = redis.call('ZRANGE', queue, rank, rank + chunk - 1)
    local dead = {}
    for i, member in ipairs(members) do
      local name = nameOf(member)
      if not verdicts[name] then
        local verdict, doubted, spoke, text = judge(name)
        verdicts[name] = { name = name, verdict = verdict, doubted = doubted, spoke = spoke, record = text }
      end
      if verdicts[name].verdict == DEAD then
        dead[#dead + 1] = member
      else
        drop(dead)
        dead = {}
        local behind = members[i + 1] or redis.call('ZRANGE', queue, rank + 1, rank + 1)[1]
        if visit(verdicts[name], rank, member, behind) then
          return
        end
        rank = rank + 1
      end
    end
    drop(dead)
    looked = looked + #members
    if #members < chunk then
      return
    end
    chunk = 100
  end
  -- There is more to look at: the caller goes on.
  askAgainAt = now
end

-- Gives the free lock to the lowest ticket whose client is live (R6).
local function pass()
  if guard and not mayGrant() then
    askAgainAt = math.min(grantableAt, now + WINDOW)
    return
  end
  local doubted, spoke
  walk(function(seen, rank, member, behind)
    if seen.verdict == DOUBTFUL then
      doubted = math.min(doubted or seen.doubted, seen.doubted)
      spoke = math.min(spoke or seen.spoke, seen.spoke)
      askAgainAt = math.ceil(doubted / 1000) + GRACE
      return false
    end
    if doubted then
      -- Somebody ahead cannot be heard. He is passed over only by one who was in line before the doubt arose, and whose
      -- own subscription has been up since before he last spoke, or for longer than the grace: else all subscriptions
      -- may just be coming back, and order is kept.
      local late = tonumber(redis.call('ZSCORE', queue, member)) >= doubted
      local _, _, since = parse(seen.record)
      since = since or now
      if late or (since >= spoke and now - since < GRACE) then
        return true
      end
    end
    askAgainAt = nil
    give(seen.name, rank, member, behind)
    return true
  end)
end

-- Drops dead waiters among a few, at another place of the line each time: a refusal costs the same however long the line is,
-- and those that come back sooner or later find the dead, the sooner the more of them there are.
local function prune()
  local from = micros % math.max(1, redis.call('ZCARD', queue) - FEW + 1)
  local verdicts, dead = {}, {}
  for _, member in ipairs(redis.call('ZRANGE', queue, from, from + FEW - 1)) do
    local name = nameOf(member)
    verdicts[name] = verdicts[name] or judge(name)
    if verdicts[name] == DEAD then
      dead[#dead + 1] = member
    end
  end
  drop(dead)
end

-- Puts members of the present run for whom `unserved(sequence)` is true back into their places in line.
local function putBack(unserved)
  local named, places = string.match(redis.call('HGET', hash, 'places') or '', '^(%d+) (.*)$')
  if named ~= first then
    return
  end
  for ticket, member, sequence in string.gmatch(places, '(%d+) ([^: ]+:(%d+))') do
    if unserved(sequence) then
      redis.call('ZADD', queue, ticket, member)
    end
  end
  keepLine()
end

-- Who of a run is inside is known to its client alone: all but the first go back to their places, and those that were
-- served are handed on when their turn comes.
local function putBackAllButFirst()
  local head = string.match(run, '^%d+')
  putBack(function(sequence)
    return sequence ~= head
  end)
end

-- The grant is over, though nobody released it: a new generation for its client (M5).
local function vacate()
  forget(holder)
  holder, run, vacated = '', '', true
end

-- The lease has ended. The others of its run are still waiting and keep their places (its renewals were lost, or the clock was
-- set), unless nobody listens to its client any more; whether that still speaks is judged when their turn comes (M7).
local function lapse()
  if string.find(run, ',', 1, true) then
    local _, heard = parse(recordOf(holder))
    if holder == client or listeners(holder) ~= 0 or not isThisServer(heard) then
      putBackAllButFirst()
    end
  end
  vacate()
end

-- settle, for scripts that may be late to notice: a lease that has ended is over, and a free lock is passed on,
-- and what nobody needs any more is left to expire.
local function settle()
  if held() and leaseEnd <= now then
    lapse()
  end
  if held() then
    return
  end
  if redis.call('ZCARD', queue) > 0 then
    pass()
  end
  if not held() and redis.call('ZCARD', queue) == 0 then
    spare = tonumber(REST)
    redis.call('PEXPIRE', hash, lifetime(spare))
    keep(clients, REST)
  end
end

-- Who holds the lock, for people.
local function whoHolds()
  if not held() then
    return ''
  end
  if label ~= '' then
    return label
  end
  local _, _, _, _, owner = parse(redis.call('HGET', hash, 'c:' .. holder))
  return owner and string.match(owner, '^%S+') or ''
end

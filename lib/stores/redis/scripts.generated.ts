// Made from scripts/*.lua by `npm run lua`. Do not edit.

export const acquire = {
  name: 'acquire',
  numberOfKeys: 3,
  sha1: '1f5079e3ff2abdd6a24b10e51713fbcd9a366a89',
  lua: `local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local client = ARGV[1]
local RETENTION = 60000
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local micros = time[1] * 1000000 + time[2]
local function int(number)
return string.format('%.0f', number)
end
local fields = redis.call('HMGET', hash, 'grant', 'token', 'done')
local holder, first, run, since, leaseEnd, label = '', 0, '', 0, 0, ''
if fields[1] and fields[1] ~= '' then
holder, first, run, since, leaseEnd, label = string.match(fields[1], '^(%S+) (%d+) (%S+) (%d+) (%d+) (.*)$')
first, since, leaseEnd = tonumber(first), tonumber(since), tonumber(leaseEnd)
end
local token = tonumber(fields[2] or 0)
local function held()
return holder ~= ''
end
local function holds(sequence)
return holder == client and leaseEnd > now
and string.find(',' .. run .. ',', ',' .. sequence .. ',', 1, true) ~= nil
end
local function rest(usual)
if token > micros then
return math.ceil((token - micros) / 1000) + usual
end
return usual
end
local function pack(firstText)
return holder .. ' ' .. firstText .. ' ' .. run .. ' ' .. since .. ' ' .. leaseEnd .. ' ' .. label
end
local function grant(name, ids, count, lease, ttl, text)
first = math.max(token, micros - 1) + 1
token = first + count - 1
holder, run, since, leaseEnd, label = name, ids, now, now + lease, text
local firstText = int(first)
redis.call('HSET', hash, 'grant', pack(firstText), 'token', count == 1 and firstText or int(token))
redis.call('PEXPIRE', hash, ttl)
end
local outbox = {}
local askAgainAt
local record
local function readRecord()
if record == nil then
record = redis.call('HGET', hash, 'c:' .. client)
end
return record
end
local function answer(status, a, b, c)
for _, message in ipairs(outbox) do
redis.pcall('PUBLISH', message[1], message[2])
end
local wake = -1
local owed = askAgainAt and 1 or 0
if askAgainAt then
wake = math.max(0, askAgainAt - now)
elseif held() then
wake = math.max(0, leaseEnd - now)
end
local text = readRecord()
local generation = text and tonumber(string.match(text, '^%d+')) or 0
if holder == client and leaseEnd > now then
return { status, now, generation, wake, owed, run, first, leaseEnd - now, a, b, c }
end
return { status, now, generation, wake, owed, '', 0, 0, a, b, c }
end
local sequence = ARGV[2]
if now > tonumber(ARGV[3]) then
return answer('EXPIRED')
end
if holds(sequence) then
return answer('GRANTED')
end
if fields[3] and string.match(fields[3], ' (.*)$') == client .. ':' .. sequence then
return answer('DONE')
end
local free = not held() or leaseEnd <= now
local waiting = redis.call('ZCARD', queue)
token = math.max(token, tonumber(ARGV[10]))
if free and waiting == 0 and not string.find(run, ',', 1, true) then
local former = holder
grant(client, sequence, 1, tonumber(ARGV[4]), ARGV[5], ARGV[11])
if former ~= '' then
redis.call('HDEL', hash, 'c:' .. former)
return answer('GRANTED')
end
return { 'GRANTED', now, first }
end
local fixed, ownTicket, maxQueue = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[9])
local settings, caller = ARGV[12], ARGV[13]
local WINDOW, LEASE, GRACE, MAX_RUN, REST, CHANNEL = string.match(settings, '^(%d+) (%d+) (%d+) (%d+) (%d+) (.*)$')
WINDOW, LEASE, GRACE, MAX_RUN = tonumber(WINDOW), tonumber(LEASE), tonumber(GRACE), tonumber(MAX_RUN)
local SWEEP = 1000
local STALE = 16
local callerSpoke, callerWasInTouch = false, false
local function keep(key, ttl)
local size = redis.pcall('ZCARD', key)
if type(size) == 'number' and size > 0 then
redis.call('PEXPIRE', key, ttl)
end
end
local function parse(text)
if not text then
return nil
end
local generation, heard, since, doubt, where = string.match(text, '^(%d+) (%S+) (%d+) (%d+) (.*)$')
return tonumber(generation), heard, tonumber(since), tonumber(doubt), where
end
local function recordOf(name)
if name == client then
return readRecord()
end
return redis.call('HGET', hash, 'c:' .. name)
end
local function write(name, generation, heard, since, doubt, where)
local text = int(generation) .. ' ' .. heard .. ' ' .. int(since) .. ' ' .. int(doubt) .. ' ' .. where
redis.call('HSET', hash, 'c:' .. name, text)
if name == client then
record = text
end
end
local function forget(name)
redis.call('HDEL', hash, 'c:' .. name)
if name == client then
record = false
end
end
local graceUntil
local function inGrace()
if not graceUntil then
graceUntil = tonumber(redis.call('HGET', hash, 'grace') or 0)
local newest = 0
local latest = redis.call('ZREVRANGE', clients, 0, 1, 'WITHSCORES')
for i = 1, #latest, 2 do
if latest[i] ~= client then
newest = math.max(newest, tonumber(latest[i + 1]))
end
end
if not callerWasInTouch and newest < now and newest > graceUntil then
graceUntil = now + WINDOW
redis.call('HSET', hash, 'grace', graceUntil)
end
end
return now <= graceUntil
end
local function speak()
local heard, heardFor, where = string.match(caller, '^(%S+) (%d+) (.*)$')
local since = now - tonumber(heardFor)
local deadline = redis.call('ZSCORE', clients, client)
callerSpoke = true
callerWasInTouch = deadline and tonumber(deadline) >= now
if deadline and not callerWasInTouch then
inGrace()
end
local generation, heardBefore, sinceBefore, doubt = parse(readRecord())
if not generation or not deadline then
generation = micros
local stale = redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)
for _, name in ipairs(stale) do
redis.call('HDEL', hash, 'c:' .. name)
redis.call('ZREM', clients, name)
end
write(client, generation, heard, since, 0, where)
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
elseif heard ~= heardBefore or doubt ~= 0 or math.abs(since - sinceBefore) > GRACE / 2 then
write(client, generation, heard, since, 0, where)
end
redis.call('ZADD', clients, now + WINDOW, client)
keep(clients, WINDOW + RETENTION)
end
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
local function judge(name)
local deadline = redis.call('ZSCORE', clients, name)
if not deadline then
redis.call('ZADD', clients, now + WINDOW, name)
keep(clients, WINDOW + RETENTION)
forget(name)
return LIVE, now
end
deadline = tonumber(deadline)
if deadline == 0 or (deadline < now and not inGrace()) then
return DEAD
end
local generation, heard, since, doubt, where = parse(recordOf(name))
if not generation or heard == '-' then
return LIVE, now
end
local count = listeners(name)
if count == nil or count > 0 or not isThisServer(heard) then
if doubt ~= 0 then
write(name, generation, heard, since, 0, where)
end
return LIVE, since
end
if callerSpoke and name == client then
return LIVE, now
end
if doubt == 0 then
doubt = micros
write(name, generation, heard, since, doubt, where)
end
if micros - doubt >= GRACE * 1000 then
return DEAD
end
return DOUBTFUL, doubt, deadline - WINDOW
end
local function drop(members)
if #members == 0 then
return
end
redis.call('ZREM', queue, unpack(members))
local seen = {}
for _, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
if not seen[name] then
seen[name] = true
forget(name)
redis.call('ZADD', clients, 'XX', 0, name)
end
end
end
local function give(name, rank, known)
local _, _, sequence, fixed = string.find(known[1], '^[^:]+:(%d+):?(%d*)$')
local ids, count, lease, places = { sequence }, 1, LEASE, nil
if fixed ~= '' then
lease = tonumber(fixed)
elseif known[2] and string.match(known[2], '^([^:]+):%d+$') == name then
local members = redis.call('ZRANGE', queue, rank, rank + MAX_RUN - 1, 'WITHSCORES')
places = members[2] .. ' ' .. members[1]
for i = 3, #members, 2 do
local owner, id = string.match(members[i], '^([^:]+):(%d+)$')
if owner ~= name then
break
end
count = count + 1
ids[count] = id
places = places .. ' ' .. members[i + 1] .. ' ' .. members[i]
end
end
redis.call('ZREMRANGEBYRANK', queue, rank, rank + count - 1)
local _, _, _, _, where = parse(recordOf(name))
lease = math.min(WINDOW, lease)
grant(name, table.concat(ids, ','), count, lease, lease + RETENTION, where or '')
if places then
redis.call('HSET', hash, 'places', int(first) .. ' ' .. places)
end
if redis.call('ZCARD', queue) == 0 then
keep(clients, REST)
end
if name ~= client then
local left = leaseEnd - now
outbox[#outbox + 1] = {
CHANNEL .. name,
'G ' .. now .. ' ' .. left .. ' ' .. int(first) .. ' ' .. run .. ' ' .. hash
}
end
end
local function walk(visit)
local verdicts = {}
local rank, looked, chunk = 0, 0, 2
while looked < SWEEP do
local members = redis.call('ZRANGE', queue, rank, rank + chunk - 1)
local dead = {}
for i, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
if not verdicts[name] then
local verdict, since, spoke = judge(name)
verdicts[name] = { name = name, verdict = verdict, since = since, spoke = spoke }
end
if verdicts[name].verdict == DEAD then
dead[#dead + 1] = member
else
drop(dead)
dead = {}
local behind = members[i + 1] or redis.call('ZRANGE', queue, rank + 1, rank + 1)[1]
if visit(verdicts[name], rank, { member, behind }) then
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
askAgainAt = now
end
local function pass()
local doubted, spoke
walk(function(seen, rank, known)
if seen.verdict == DOUBTFUL then
doubted = math.min(doubted or seen.since, seen.since)
spoke = math.min(spoke or seen.spoke, seen.spoke)
askAgainAt = math.ceil(doubted / 1000) + GRACE
return false
end
if doubted then
local late = tonumber(redis.call('ZSCORE', queue, known[1])) >= doubted
if late or (seen.since >= spoke and now - seen.since < GRACE) then
return true
end
end
askAgainAt = nil
give(seen.name, rank, known)
return true
end)
end
local function prune()
walk(function() return false end)
end
local function putBack(unserved)
local named, places = string.match(redis.call('HGET', hash, 'places') or '', '^(%d+) (.*)$')
if named ~= int(first) then
return
end
for ticket, member, sequence in string.gmatch(places, '(%d+) ([^: ]+:(%d+))') do
if unserved(sequence) then
redis.call('ZADD', queue, ticket, member)
end
end
keep(queue, WINDOW + RETENTION)
end
local function putBackAllButFirst()
local head = string.match(run, '^%d+')
putBack(function(sequence)
return sequence ~= head
end)
end
local function vacate()
forget(holder)
holder = ''
redis.call('HSET', hash, 'grant', '')
end
local function lapse()
if string.find(run, ',', 1, true) then
local _, heard = parse(recordOf(holder))
if heard and heard ~= '-' and isThisServer(heard) and (listeners(holder) or 0) > 0 then
putBackAllButFirst()
end
end
vacate()
end
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
redis.call('PEXPIRE', hash, rest(REST))
keep(clients, REST)
end
end
if ARGV[8] == 'try' then
if free then
redis.call('PEXPIRE', hash, RETENTION)
settle()
end
return answer('BUSY', held() and label or '', held() and now - since or 0)
end
local member = client .. ':' .. sequence .. (fixed == '' and '' or ':' .. fixed)
local ticket = tonumber(redis.call('ZSCORE', queue, member) or nil)
if not ticket and ownTicket == 0 and maxQueue >= 0 and waiting >= maxQueue then
keep(queue, WINDOW + RETENTION)
prune()
waiting = redis.call('ZCARD', queue)
if waiting >= maxQueue then
return answer('FULL', waiting)
end
end
if free then
redis.call('PEXPIRE', hash, RETENTION)
end
speak()
if not ticket or (ownTicket > 0 and ownTicket < ticket) then
local last = tonumber(redis.call('HGET', hash, 'ticket') or redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0)
ticket = ownTicket > 0 and ownTicket or math.max(last + 1, micros)
redis.call('ZADD', queue, ticket, member)
keep(queue, WINDOW + RETENTION)
redis.call('HSET', hash, 'ticket', int(math.max(last, ticket)), 'token', int(token))
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + RETENTION)
end
if free then
settle()
if holds(sequence) then
return answer('GRANTED')
end
end
local _, commas = string.gsub(held() and run or '', ',', '')
return answer('QUEUED', ticket, (redis.call('ZRANK', queue, member) or 0) + commas)`,
} as const;

export const forceRelease = {
  name: 'forceRelease',
  numberOfKeys: 3,
  sha1: '11bb0090a0822230516d1c8d3a9252452921f178',
  lua: `local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local client = ARGV[1]
local RETENTION = 60000
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local micros = time[1] * 1000000 + time[2]
local function int(number)
return string.format('%.0f', number)
end
local fields = redis.call('HMGET', hash, 'grant', 'token', 'done')
local holder, first, run, since, leaseEnd, label = '', 0, '', 0, 0, ''
if fields[1] and fields[1] ~= '' then
holder, first, run, since, leaseEnd, label = string.match(fields[1], '^(%S+) (%d+) (%S+) (%d+) (%d+) (.*)$')
first, since, leaseEnd = tonumber(first), tonumber(since), tonumber(leaseEnd)
end
local token = tonumber(fields[2] or 0)
local function held()
return holder ~= ''
end
local function holds(sequence)
return holder == client and leaseEnd > now
and string.find(',' .. run .. ',', ',' .. sequence .. ',', 1, true) ~= nil
end
local function rest(usual)
if token > micros then
return math.ceil((token - micros) / 1000) + usual
end
return usual
end
local function pack(firstText)
return holder .. ' ' .. firstText .. ' ' .. run .. ' ' .. since .. ' ' .. leaseEnd .. ' ' .. label
end
local function grant(name, ids, count, lease, ttl, text)
first = math.max(token, micros - 1) + 1
token = first + count - 1
holder, run, since, leaseEnd, label = name, ids, now, now + lease, text
local firstText = int(first)
redis.call('HSET', hash, 'grant', pack(firstText), 'token', count == 1 and firstText or int(token))
redis.call('PEXPIRE', hash, ttl)
end
local outbox = {}
local askAgainAt
local record
local function readRecord()
if record == nil then
record = redis.call('HGET', hash, 'c:' .. client)
end
return record
end
local function answer(status, a, b, c)
for _, message in ipairs(outbox) do
redis.pcall('PUBLISH', message[1], message[2])
end
local wake = -1
local owed = askAgainAt and 1 or 0
if askAgainAt then
wake = math.max(0, askAgainAt - now)
elseif held() then
wake = math.max(0, leaseEnd - now)
end
local text = readRecord()
local generation = text and tonumber(string.match(text, '^%d+')) or 0
if holder == client and leaseEnd > now then
return { status, now, generation, wake, owed, run, first, leaseEnd - now, a, b, c }
end
return { status, now, generation, wake, owed, '', 0, 0, a, b, c }
end
local settings, caller = ARGV[3], ARGV[4]
local WINDOW, LEASE, GRACE, MAX_RUN, REST, CHANNEL = string.match(settings, '^(%d+) (%d+) (%d+) (%d+) (%d+) (.*)$')
WINDOW, LEASE, GRACE, MAX_RUN = tonumber(WINDOW), tonumber(LEASE), tonumber(GRACE), tonumber(MAX_RUN)
local SWEEP = 1000
local STALE = 16
local callerSpoke, callerWasInTouch = false, false
local function keep(key, ttl)
local size = redis.pcall('ZCARD', key)
if type(size) == 'number' and size > 0 then
redis.call('PEXPIRE', key, ttl)
end
end
local function parse(text)
if not text then
return nil
end
local generation, heard, since, doubt, where = string.match(text, '^(%d+) (%S+) (%d+) (%d+) (.*)$')
return tonumber(generation), heard, tonumber(since), tonumber(doubt), where
end
local function recordOf(name)
if name == client then
return readRecord()
end
return redis.call('HGET', hash, 'c:' .. name)
end
local function write(name, generation, heard, since, doubt, where)
local text = int(generation) .. ' ' .. heard .. ' ' .. int(since) .. ' ' .. int(doubt) .. ' ' .. where
redis.call('HSET', hash, 'c:' .. name, text)
if name == client then
record = text
end
end
local function forget(name)
redis.call('HDEL', hash, 'c:' .. name)
if name == client then
record = false
end
end
local graceUntil
local function inGrace()
if not graceUntil then
graceUntil = tonumber(redis.call('HGET', hash, 'grace') or 0)
local newest = 0
local latest = redis.call('ZREVRANGE', clients, 0, 1, 'WITHSCORES')
for i = 1, #latest, 2 do
if latest[i] ~= client then
newest = math.max(newest, tonumber(latest[i + 1]))
end
end
if not callerWasInTouch and newest < now and newest > graceUntil then
graceUntil = now + WINDOW
redis.call('HSET', hash, 'grace', graceUntil)
end
end
return now <= graceUntil
end
local function speak()
local heard, heardFor, where = string.match(caller, '^(%S+) (%d+) (.*)$')
local since = now - tonumber(heardFor)
local deadline = redis.call('ZSCORE', clients, client)
callerSpoke = true
callerWasInTouch = deadline and tonumber(deadline) >= now
if deadline and not callerWasInTouch then
inGrace()
end
local generation, heardBefore, sinceBefore, doubt = parse(readRecord())
if not generation or not deadline then
generation = micros
local stale = redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)
for _, name in ipairs(stale) do
redis.call('HDEL', hash, 'c:' .. name)
redis.call('ZREM', clients, name)
end
write(client, generation, heard, since, 0, where)
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
elseif heard ~= heardBefore or doubt ~= 0 or math.abs(since - sinceBefore) > GRACE / 2 then
write(client, generation, heard, since, 0, where)
end
redis.call('ZADD', clients, now + WINDOW, client)
keep(clients, WINDOW + RETENTION)
end
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
local function judge(name)
local deadline = redis.call('ZSCORE', clients, name)
if not deadline then
redis.call('ZADD', clients, now + WINDOW, name)
keep(clients, WINDOW + RETENTION)
forget(name)
return LIVE, now
end
deadline = tonumber(deadline)
if deadline == 0 or (deadline < now and not inGrace()) then
return DEAD
end
local generation, heard, since, doubt, where = parse(recordOf(name))
if not generation or heard == '-' then
return LIVE, now
end
local count = listeners(name)
if count == nil or count > 0 or not isThisServer(heard) then
if doubt ~= 0 then
write(name, generation, heard, since, 0, where)
end
return LIVE, since
end
if callerSpoke and name == client then
return LIVE, now
end
if doubt == 0 then
doubt = micros
write(name, generation, heard, since, doubt, where)
end
if micros - doubt >= GRACE * 1000 then
return DEAD
end
return DOUBTFUL, doubt, deadline - WINDOW
end
local function drop(members)
if #members == 0 then
return
end
redis.call('ZREM', queue, unpack(members))
local seen = {}
for _, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
if not seen[name] then
seen[name] = true
forget(name)
redis.call('ZADD', clients, 'XX', 0, name)
end
end
end
local function give(name, rank, known)
local _, _, sequence, fixed = string.find(known[1], '^[^:]+:(%d+):?(%d*)$')
local ids, count, lease, places = { sequence }, 1, LEASE, nil
if fixed ~= '' then
lease = tonumber(fixed)
elseif known[2] and string.match(known[2], '^([^:]+):%d+$') == name then
local members = redis.call('ZRANGE', queue, rank, rank + MAX_RUN - 1, 'WITHSCORES')
places = members[2] .. ' ' .. members[1]
for i = 3, #members, 2 do
local owner, id = string.match(members[i], '^([^:]+):(%d+)$')
if owner ~= name then
break
end
count = count + 1
ids[count] = id
places = places .. ' ' .. members[i + 1] .. ' ' .. members[i]
end
end
redis.call('ZREMRANGEBYRANK', queue, rank, rank + count - 1)
local _, _, _, _, where = parse(recordOf(name))
lease = math.min(WINDOW, lease)
grant(name, table.concat(ids, ','), count, lease, lease + RETENTION, where or '')
if places then
redis.call('HSET', hash, 'places', int(first) .. ' ' .. places)
end
if redis.call('ZCARD', queue) == 0 then
keep(clients, REST)
end
if name ~= client then
local left = leaseEnd - now
outbox[#outbox + 1] = {
CHANNEL .. name,
'G ' .. now .. ' ' .. left .. ' ' .. int(first) .. ' ' .. run .. ' ' .. hash
}
end
end
local function walk(visit)
local verdicts = {}
local rank, looked, chunk = 0, 0, 2
while looked < SWEEP do
local members = redis.call('ZRANGE', queue, rank, rank + chunk - 1)
local dead = {}
for i, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
if not verdicts[name] then
local verdict, since, spoke = judge(name)
verdicts[name] = { name = name, verdict = verdict, since = since, spoke = spoke }
end
if verdicts[name].verdict == DEAD then
dead[#dead + 1] = member
else
drop(dead)
dead = {}
local behind = members[i + 1] or redis.call('ZRANGE', queue, rank + 1, rank + 1)[1]
if visit(verdicts[name], rank, { member, behind }) then
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
askAgainAt = now
end
local function pass()
local doubted, spoke
walk(function(seen, rank, known)
if seen.verdict == DOUBTFUL then
doubted = math.min(doubted or seen.since, seen.since)
spoke = math.min(spoke or seen.spoke, seen.spoke)
askAgainAt = math.ceil(doubted / 1000) + GRACE
return false
end
if doubted then
local late = tonumber(redis.call('ZSCORE', queue, known[1])) >= doubted
if late or (seen.since >= spoke and now - seen.since < GRACE) then
return true
end
end
askAgainAt = nil
give(seen.name, rank, known)
return true
end)
end
local function prune()
walk(function() return false end)
end
local function putBack(unserved)
local named, places = string.match(redis.call('HGET', hash, 'places') or '', '^(%d+) (.*)$')
if named ~= int(first) then
return
end
for ticket, member, sequence in string.gmatch(places, '(%d+) ([^: ]+:(%d+))') do
if unserved(sequence) then
redis.call('ZADD', queue, ticket, member)
end
end
keep(queue, WINDOW + RETENTION)
end
local function putBackAllButFirst()
local head = string.match(run, '^%d+')
putBack(function(sequence)
return sequence ~= head
end)
end
local function vacate()
forget(holder)
holder = ''
redis.call('HSET', hash, 'grant', '')
end
local function lapse()
if string.find(run, ',', 1, true) then
local _, heard = parse(recordOf(holder))
if heard and heard ~= '-' and isThisServer(heard) and (listeners(holder) or 0) > 0 then
putBackAllButFirst()
end
end
vacate()
end
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
redis.call('PEXPIRE', hash, rest(REST))
keep(clients, REST)
end
end
local status = 'FREE'
if fields[3] == ARGV[2] .. ' forced' then
status = 'FORCED'
elseif held() and leaseEnd > now and first == tonumber(ARGV[2]) then
status = 'FORCED'
outbox[1] = { CHANNEL .. holder, 'L ' .. now .. ' ' .. int(first) .. ' ' .. hash }
redis.call('PEXPIRE', hash, RETENTION)
putBackAllButFirst()
redis.call('HSET', hash, 'done', ARGV[2] .. ' forced')
vacate()
end
settle()
return answer(status)`,
} as const;

export const heartbeat = {
  name: 'heartbeat',
  numberOfKeys: 3,
  sha1: '3734f2d8f239df18f7dff29c030e6f84b578fbc3',
  lua: `local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local client = ARGV[1]
local RETENTION = 60000
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local micros = time[1] * 1000000 + time[2]
local function int(number)
return string.format('%.0f', number)
end
local fields = redis.call('HMGET', hash, 'grant', 'token', 'done')
local holder, first, run, since, leaseEnd, label = '', 0, '', 0, 0, ''
if fields[1] and fields[1] ~= '' then
holder, first, run, since, leaseEnd, label = string.match(fields[1], '^(%S+) (%d+) (%S+) (%d+) (%d+) (.*)$')
first, since, leaseEnd = tonumber(first), tonumber(since), tonumber(leaseEnd)
end
local token = tonumber(fields[2] or 0)
local function held()
return holder ~= ''
end
local function holds(sequence)
return holder == client and leaseEnd > now
and string.find(',' .. run .. ',', ',' .. sequence .. ',', 1, true) ~= nil
end
local function rest(usual)
if token > micros then
return math.ceil((token - micros) / 1000) + usual
end
return usual
end
local function pack(firstText)
return holder .. ' ' .. firstText .. ' ' .. run .. ' ' .. since .. ' ' .. leaseEnd .. ' ' .. label
end
local function grant(name, ids, count, lease, ttl, text)
first = math.max(token, micros - 1) + 1
token = first + count - 1
holder, run, since, leaseEnd, label = name, ids, now, now + lease, text
local firstText = int(first)
redis.call('HSET', hash, 'grant', pack(firstText), 'token', count == 1 and firstText or int(token))
redis.call('PEXPIRE', hash, ttl)
end
local outbox = {}
local askAgainAt
local record
local function readRecord()
if record == nil then
record = redis.call('HGET', hash, 'c:' .. client)
end
return record
end
local function answer(status, a, b, c)
for _, message in ipairs(outbox) do
redis.pcall('PUBLISH', message[1], message[2])
end
local wake = -1
local owed = askAgainAt and 1 or 0
if askAgainAt then
wake = math.max(0, askAgainAt - now)
elseif held() then
wake = math.max(0, leaseEnd - now)
end
local text = readRecord()
local generation = text and tonumber(string.match(text, '^%d+')) or 0
if holder == client and leaseEnd > now then
return { status, now, generation, wake, owed, run, first, leaseEnd - now, a, b, c }
end
return { status, now, generation, wake, owed, '', 0, 0, a, b, c }
end
local given = tonumber(ARGV[3])
if now > tonumber(ARGV[2]) then
return answer('EXPIRED')
end
local settings, caller = ARGV[11], ARGV[12]
local WINDOW, LEASE, GRACE, MAX_RUN, REST, CHANNEL = string.match(settings, '^(%d+) (%d+) (%d+) (%d+) (%d+) (.*)$')
WINDOW, LEASE, GRACE, MAX_RUN = tonumber(WINDOW), tonumber(LEASE), tonumber(GRACE), tonumber(MAX_RUN)
local SWEEP = 1000
local STALE = 16
local callerSpoke, callerWasInTouch = false, false
local function keep(key, ttl)
local size = redis.pcall('ZCARD', key)
if type(size) == 'number' and size > 0 then
redis.call('PEXPIRE', key, ttl)
end
end
local function parse(text)
if not text then
return nil
end
local generation, heard, since, doubt, where = string.match(text, '^(%d+) (%S+) (%d+) (%d+) (.*)$')
return tonumber(generation), heard, tonumber(since), tonumber(doubt), where
end
local function recordOf(name)
if name == client then
return readRecord()
end
return redis.call('HGET', hash, 'c:' .. name)
end
local function write(name, generation, heard, since, doubt, where)
local text = int(generation) .. ' ' .. heard .. ' ' .. int(since) .. ' ' .. int(doubt) .. ' ' .. where
redis.call('HSET', hash, 'c:' .. name, text)
if name == client then
record = text
end
end
local function forget(name)
redis.call('HDEL', hash, 'c:' .. name)
if name == client then
record = false
end
end
local graceUntil
local function inGrace()
if not graceUntil then
graceUntil = tonumber(redis.call('HGET', hash, 'grace') or 0)
local newest = 0
local latest = redis.call('ZREVRANGE', clients, 0, 1, 'WITHSCORES')
for i = 1, #latest, 2 do
if latest[i] ~= client then
newest = math.max(newest, tonumber(latest[i + 1]))
end
end
if not callerWasInTouch and newest < now and newest > graceUntil then
graceUntil = now + WINDOW
redis.call('HSET', hash, 'grace', graceUntil)
end
end
return now <= graceUntil
end
local function speak()
local heard, heardFor, where = string.match(caller, '^(%S+) (%d+) (.*)$')
local since = now - tonumber(heardFor)
local deadline = redis.call('ZSCORE', clients, client)
callerSpoke = true
callerWasInTouch = deadline and tonumber(deadline) >= now
if deadline and not callerWasInTouch then
inGrace()
end
local generation, heardBefore, sinceBefore, doubt = parse(readRecord())
if not generation or not deadline then
generation = micros
local stale = redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)
for _, name in ipairs(stale) do
redis.call('HDEL', hash, 'c:' .. name)
redis.call('ZREM', clients, name)
end
write(client, generation, heard, since, 0, where)
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
elseif heard ~= heardBefore or doubt ~= 0 or math.abs(since - sinceBefore) > GRACE / 2 then
write(client, generation, heard, since, 0, where)
end
redis.call('ZADD', clients, now + WINDOW, client)
keep(clients, WINDOW + RETENTION)
end
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
local function judge(name)
local deadline = redis.call('ZSCORE', clients, name)
if not deadline then
redis.call('ZADD', clients, now + WINDOW, name)
keep(clients, WINDOW + RETENTION)
forget(name)
return LIVE, now
end
deadline = tonumber(deadline)
if deadline == 0 or (deadline < now and not inGrace()) then
return DEAD
end
local generation, heard, since, doubt, where = parse(recordOf(name))
if not generation or heard == '-' then
return LIVE, now
end
local count = listeners(name)
if count == nil or count > 0 or not isThisServer(heard) then
if doubt ~= 0 then
write(name, generation, heard, since, 0, where)
end
return LIVE, since
end
if callerSpoke and name == client then
return LIVE, now
end
if doubt == 0 then
doubt = micros
write(name, generation, heard, since, doubt, where)
end
if micros - doubt >= GRACE * 1000 then
return DEAD
end
return DOUBTFUL, doubt, deadline - WINDOW
end
local function drop(members)
if #members == 0 then
return
end
redis.call('ZREM', queue, unpack(members))
local seen = {}
for _, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
if not seen[name] then
seen[name] = true
forget(name)
redis.call('ZADD', clients, 'XX', 0, name)
end
end
end
local function give(name, rank, known)
local _, _, sequence, fixed = string.find(known[1], '^[^:]+:(%d+):?(%d*)$')
local ids, count, lease, places = { sequence }, 1, LEASE, nil
if fixed ~= '' then
lease = tonumber(fixed)
elseif known[2] and string.match(known[2], '^([^:]+):%d+$') == name then
local members = redis.call('ZRANGE', queue, rank, rank + MAX_RUN - 1, 'WITHSCORES')
places = members[2] .. ' ' .. members[1]
for i = 3, #members, 2 do
local owner, id = string.match(members[i], '^([^:]+):(%d+)$')
if owner ~= name then
break
end
count = count + 1
ids[count] = id
places = places .. ' ' .. members[i + 1] .. ' ' .. members[i]
end
end
redis.call('ZREMRANGEBYRANK', queue, rank, rank + count - 1)
local _, _, _, _, where = parse(recordOf(name))
lease = math.min(WINDOW, lease)
grant(name, table.concat(ids, ','), count, lease, lease + RETENTION, where or '')
if places then
redis.call('HSET', hash, 'places', int(first) .. ' ' .. places)
end
if redis.call('ZCARD', queue) == 0 then
keep(clients, REST)
end
if name ~= client then
local left = leaseEnd - now
outbox[#outbox + 1] = {
CHANNEL .. name,
'G ' .. now .. ' ' .. left .. ' ' .. int(first) .. ' ' .. run .. ' ' .. hash
}
end
end
local function walk(visit)
local verdicts = {}
local rank, looked, chunk = 0, 0, 2
while looked < SWEEP do
local members = redis.call('ZRANGE', queue, rank, rank + chunk - 1)
local dead = {}
for i, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
if not verdicts[name] then
local verdict, since, spoke = judge(name)
verdicts[name] = { name = name, verdict = verdict, since = since, spoke = spoke }
end
if verdicts[name].verdict == DEAD then
dead[#dead + 1] = member
else
drop(dead)
dead = {}
local behind = members[i + 1] or redis.call('ZRANGE', queue, rank + 1, rank + 1)[1]
if visit(verdicts[name], rank, { member, behind }) then
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
askAgainAt = now
end
local function pass()
local doubted, spoke
walk(function(seen, rank, known)
if seen.verdict == DOUBTFUL then
doubted = math.min(doubted or seen.since, seen.since)
spoke = math.min(spoke or seen.spoke, seen.spoke)
askAgainAt = math.ceil(doubted / 1000) + GRACE
return false
end
if doubted then
local late = tonumber(redis.call('ZSCORE', queue, known[1])) >= doubted
if late or (seen.since >= spoke and now - seen.since < GRACE) then
return true
end
end
askAgainAt = nil
give(seen.name, rank, known)
return true
end)
end
local function prune()
walk(function() return false end)
end
local function putBack(unserved)
local named, places = string.match(redis.call('HGET', hash, 'places') or '', '^(%d+) (.*)$')
if named ~= int(first) then
return
end
for ticket, member, sequence in string.gmatch(places, '(%d+) ([^: ]+:(%d+))') do
if unserved(sequence) then
redis.call('ZADD', queue, ticket, member)
end
end
keep(queue, WINDOW + RETENTION)
end
local function putBackAllButFirst()
local head = string.match(run, '^%d+')
putBack(function(sequence)
return sequence ~= head
end)
end
local function vacate()
forget(holder)
holder = ''
redis.call('HSET', hash, 'grant', '')
end
local function lapse()
if string.find(run, ',', 1, true) then
local _, heard = parse(recordOf(holder))
if heard and heard ~= '-' and isThisServer(heard) and (listeners(holder) or 0) > 0 then
putBackAllButFirst()
end
end
vacate()
end
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
redis.call('PEXPIRE', hash, rest(REST))
keep(clients, REST)
end
end
redis.call('PEXPIRE', hash, math.max(0, held() and leaseEnd - now or 0) + RETENTION + WINDOW)
keep(queue, WINDOW + RETENTION)
if ARGV[7] == 'waiting' then
if ARGV[8] ~= '' and not redis.call('ZSCORE', queue, ARGV[9]) and not holds(ARGV[8]) then
forget(client)
end
speak()
end
local status = 'GONE'
if given > 0 and held() and holder == client and first == given and leaseEnd > now then
status = 'RENEWED'
leaseEnd = math.max(leaseEnd, (ARGV[4] == 'fixed' and since or now) + tonumber(ARGV[5]))
label = ARGV[6]
redis.call('HSET', hash, 'grant', pack(int(first)))
redis.call('PEXPIRE', hash, leaseEnd - now + RETENTION)
else
settle()
end
local heardBy = listeners(client)
if ARGV[10] == 'ping' then
outbox[#outbox + 1] = { CHANNEL .. client, 'P' }
end
return answer(status, heardBy or -1)`,
} as const;

export const inspect = {
  name: 'inspect',
  numberOfKeys: 3,
  sha1: 'ee04c97708d8ebbb1b64ee7db89a731352e3caf8',
  lua: `local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local client = ARGV[1]
local RETENTION = 60000
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local micros = time[1] * 1000000 + time[2]
local function int(number)
return string.format('%.0f', number)
end
local fields = redis.call('HMGET', hash, 'grant', 'token', 'done')
local holder, first, run, since, leaseEnd, label = '', 0, '', 0, 0, ''
if fields[1] and fields[1] ~= '' then
holder, first, run, since, leaseEnd, label = string.match(fields[1], '^(%S+) (%d+) (%S+) (%d+) (%d+) (.*)$')
first, since, leaseEnd = tonumber(first), tonumber(since), tonumber(leaseEnd)
end
local token = tonumber(fields[2] or 0)
local function held()
return holder ~= ''
end
local function holds(sequence)
return holder == client and leaseEnd > now
and string.find(',' .. run .. ',', ',' .. sequence .. ',', 1, true) ~= nil
end
local function rest(usual)
if token > micros then
return math.ceil((token - micros) / 1000) + usual
end
return usual
end
local function pack(firstText)
return holder .. ' ' .. firstText .. ' ' .. run .. ' ' .. since .. ' ' .. leaseEnd .. ' ' .. label
end
local function grant(name, ids, count, lease, ttl, text)
first = math.max(token, micros - 1) + 1
token = first + count - 1
holder, run, since, leaseEnd, label = name, ids, now, now + lease, text
local firstText = int(first)
redis.call('HSET', hash, 'grant', pack(firstText), 'token', count == 1 and firstText or int(token))
redis.call('PEXPIRE', hash, ttl)
end
local outbox = {}
local askAgainAt
local record
local function readRecord()
if record == nil then
record = redis.call('HGET', hash, 'c:' .. client)
end
return record
end
local function answer(status, a, b, c)
for _, message in ipairs(outbox) do
redis.pcall('PUBLISH', message[1], message[2])
end
local wake = -1
local owed = askAgainAt and 1 or 0
if askAgainAt then
wake = math.max(0, askAgainAt - now)
elseif held() then
wake = math.max(0, leaseEnd - now)
end
local text = readRecord()
local generation = text and tonumber(string.match(text, '^%d+')) or 0
if holder == client and leaseEnd > now then
return { status, now, generation, wake, owed, run, first, leaseEnd - now, a, b, c }
end
return { status, now, generation, wake, owed, '', 0, 0, a, b, c }
end
local members = redis.call('ZRANGE', queue, 0, tonumber(ARGV[2]) - 1, 'WITHSCORES')
local waiters = {}
for i = 1, #members, 2 do
local name = string.match(members[i], '^[^:]+')
waiters[#waiters + 1] = members[i]
waiters[#waiters + 1] = members[i + 1]
waiters[#waiters + 1] = redis.call('ZSCORE', clients, name) or '0'
waiters[#waiters + 1] = redis.call('HGET', hash, 'c:' .. name) or ''
end
local length = redis.call('ZCARD', queue)
if held() and leaseEnd > now then
return { now, holder, label, first, now - since, leaseEnd - now, length, waiters }
end
return { now, '', '', 0, 0, 0, length, waiters }`,
} as const;

export const leave = {
  name: 'leave',
  numberOfKeys: 3,
  sha1: 'd6bee6eff308518c7b01007bfb74750b0b213e74',
  lua: `local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local client = ARGV[1]
local RETENTION = 60000
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local micros = time[1] * 1000000 + time[2]
local function int(number)
return string.format('%.0f', number)
end
local fields = redis.call('HMGET', hash, 'grant', 'token', 'done')
local holder, first, run, since, leaseEnd, label = '', 0, '', 0, 0, ''
if fields[1] and fields[1] ~= '' then
holder, first, run, since, leaseEnd, label = string.match(fields[1], '^(%S+) (%d+) (%S+) (%d+) (%d+) (.*)$')
first, since, leaseEnd = tonumber(first), tonumber(since), tonumber(leaseEnd)
end
local token = tonumber(fields[2] or 0)
local function held()
return holder ~= ''
end
local function holds(sequence)
return holder == client and leaseEnd > now
and string.find(',' .. run .. ',', ',' .. sequence .. ',', 1, true) ~= nil
end
local function rest(usual)
if token > micros then
return math.ceil((token - micros) / 1000) + usual
end
return usual
end
local function pack(firstText)
return holder .. ' ' .. firstText .. ' ' .. run .. ' ' .. since .. ' ' .. leaseEnd .. ' ' .. label
end
local function grant(name, ids, count, lease, ttl, text)
first = math.max(token, micros - 1) + 1
token = first + count - 1
holder, run, since, leaseEnd, label = name, ids, now, now + lease, text
local firstText = int(first)
redis.call('HSET', hash, 'grant', pack(firstText), 'token', count == 1 and firstText or int(token))
redis.call('PEXPIRE', hash, ttl)
end
local outbox = {}
local askAgainAt
local record
local function readRecord()
if record == nil then
record = redis.call('HGET', hash, 'c:' .. client)
end
return record
end
local function answer(status, a, b, c)
for _, message in ipairs(outbox) do
redis.pcall('PUBLISH', message[1], message[2])
end
local wake = -1
local owed = askAgainAt and 1 or 0
if askAgainAt then
wake = math.max(0, askAgainAt - now)
elseif held() then
wake = math.max(0, leaseEnd - now)
end
local text = readRecord()
local generation = text and tonumber(string.match(text, '^%d+')) or 0
if holder == client and leaseEnd > now then
return { status, now, generation, wake, owed, run, first, leaseEnd - now, a, b, c }
end
return { status, now, generation, wake, owed, '', 0, 0, a, b, c }
end
local settings, caller = ARGV[4], ARGV[5]
local WINDOW, LEASE, GRACE, MAX_RUN, REST, CHANNEL = string.match(settings, '^(%d+) (%d+) (%d+) (%d+) (%d+) (.*)$')
WINDOW, LEASE, GRACE, MAX_RUN = tonumber(WINDOW), tonumber(LEASE), tonumber(GRACE), tonumber(MAX_RUN)
local SWEEP = 1000
local STALE = 16
local callerSpoke, callerWasInTouch = false, false
local function keep(key, ttl)
local size = redis.pcall('ZCARD', key)
if type(size) == 'number' and size > 0 then
redis.call('PEXPIRE', key, ttl)
end
end
local function parse(text)
if not text then
return nil
end
local generation, heard, since, doubt, where = string.match(text, '^(%d+) (%S+) (%d+) (%d+) (.*)$')
return tonumber(generation), heard, tonumber(since), tonumber(doubt), where
end
local function recordOf(name)
if name == client then
return readRecord()
end
return redis.call('HGET', hash, 'c:' .. name)
end
local function write(name, generation, heard, since, doubt, where)
local text = int(generation) .. ' ' .. heard .. ' ' .. int(since) .. ' ' .. int(doubt) .. ' ' .. where
redis.call('HSET', hash, 'c:' .. name, text)
if name == client then
record = text
end
end
local function forget(name)
redis.call('HDEL', hash, 'c:' .. name)
if name == client then
record = false
end
end
local graceUntil
local function inGrace()
if not graceUntil then
graceUntil = tonumber(redis.call('HGET', hash, 'grace') or 0)
local newest = 0
local latest = redis.call('ZREVRANGE', clients, 0, 1, 'WITHSCORES')
for i = 1, #latest, 2 do
if latest[i] ~= client then
newest = math.max(newest, tonumber(latest[i + 1]))
end
end
if not callerWasInTouch and newest < now and newest > graceUntil then
graceUntil = now + WINDOW
redis.call('HSET', hash, 'grace', graceUntil)
end
end
return now <= graceUntil
end
local function speak()
local heard, heardFor, where = string.match(caller, '^(%S+) (%d+) (.*)$')
local since = now - tonumber(heardFor)
local deadline = redis.call('ZSCORE', clients, client)
callerSpoke = true
callerWasInTouch = deadline and tonumber(deadline) >= now
if deadline and not callerWasInTouch then
inGrace()
end
local generation, heardBefore, sinceBefore, doubt = parse(readRecord())
if not generation or not deadline then
generation = micros
local stale = redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)
for _, name in ipairs(stale) do
redis.call('HDEL', hash, 'c:' .. name)
redis.call('ZREM', clients, name)
end
write(client, generation, heard, since, 0, where)
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
elseif heard ~= heardBefore or doubt ~= 0 or math.abs(since - sinceBefore) > GRACE / 2 then
write(client, generation, heard, since, 0, where)
end
redis.call('ZADD', clients, now + WINDOW, client)
keep(clients, WINDOW + RETENTION)
end
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
local function judge(name)
local deadline = redis.call('ZSCORE', clients, name)
if not deadline then
redis.call('ZADD', clients, now + WINDOW, name)
keep(clients, WINDOW + RETENTION)
forget(name)
return LIVE, now
end
deadline = tonumber(deadline)
if deadline == 0 or (deadline < now and not inGrace()) then
return DEAD
end
local generation, heard, since, doubt, where = parse(recordOf(name))
if not generation or heard == '-' then
return LIVE, now
end
local count = listeners(name)
if count == nil or count > 0 or not isThisServer(heard) then
if doubt ~= 0 then
write(name, generation, heard, since, 0, where)
end
return LIVE, since
end
if callerSpoke and name == client then
return LIVE, now
end
if doubt == 0 then
doubt = micros
write(name, generation, heard, since, doubt, where)
end
if micros - doubt >= GRACE * 1000 then
return DEAD
end
return DOUBTFUL, doubt, deadline - WINDOW
end
local function drop(members)
if #members == 0 then
return
end
redis.call('ZREM', queue, unpack(members))
local seen = {}
for _, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
if not seen[name] then
seen[name] = true
forget(name)
redis.call('ZADD', clients, 'XX', 0, name)
end
end
end
local function give(name, rank, known)
local _, _, sequence, fixed = string.find(known[1], '^[^:]+:(%d+):?(%d*)$')
local ids, count, lease, places = { sequence }, 1, LEASE, nil
if fixed ~= '' then
lease = tonumber(fixed)
elseif known[2] and string.match(known[2], '^([^:]+):%d+$') == name then
local members = redis.call('ZRANGE', queue, rank, rank + MAX_RUN - 1, 'WITHSCORES')
places = members[2] .. ' ' .. members[1]
for i = 3, #members, 2 do
local owner, id = string.match(members[i], '^([^:]+):(%d+)$')
if owner ~= name then
break
end
count = count + 1
ids[count] = id
places = places .. ' ' .. members[i + 1] .. ' ' .. members[i]
end
end
redis.call('ZREMRANGEBYRANK', queue, rank, rank + count - 1)
local _, _, _, _, where = parse(recordOf(name))
lease = math.min(WINDOW, lease)
grant(name, table.concat(ids, ','), count, lease, lease + RETENTION, where or '')
if places then
redis.call('HSET', hash, 'places', int(first) .. ' ' .. places)
end
if redis.call('ZCARD', queue) == 0 then
keep(clients, REST)
end
if name ~= client then
local left = leaseEnd - now
outbox[#outbox + 1] = {
CHANNEL .. name,
'G ' .. now .. ' ' .. left .. ' ' .. int(first) .. ' ' .. run .. ' ' .. hash
}
end
end
local function walk(visit)
local verdicts = {}
local rank, looked, chunk = 0, 0, 2
while looked < SWEEP do
local members = redis.call('ZRANGE', queue, rank, rank + chunk - 1)
local dead = {}
for i, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
if not verdicts[name] then
local verdict, since, spoke = judge(name)
verdicts[name] = { name = name, verdict = verdict, since = since, spoke = spoke }
end
if verdicts[name].verdict == DEAD then
dead[#dead + 1] = member
else
drop(dead)
dead = {}
local behind = members[i + 1] or redis.call('ZRANGE', queue, rank + 1, rank + 1)[1]
if visit(verdicts[name], rank, { member, behind }) then
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
askAgainAt = now
end
local function pass()
local doubted, spoke
walk(function(seen, rank, known)
if seen.verdict == DOUBTFUL then
doubted = math.min(doubted or seen.since, seen.since)
spoke = math.min(spoke or seen.spoke, seen.spoke)
askAgainAt = math.ceil(doubted / 1000) + GRACE
return false
end
if doubted then
local late = tonumber(redis.call('ZSCORE', queue, known[1])) >= doubted
if late or (seen.since >= spoke and now - seen.since < GRACE) then
return true
end
end
askAgainAt = nil
give(seen.name, rank, known)
return true
end)
end
local function prune()
walk(function() return false end)
end
local function putBack(unserved)
local named, places = string.match(redis.call('HGET', hash, 'places') or '', '^(%d+) (.*)$')
if named ~= int(first) then
return
end
for ticket, member, sequence in string.gmatch(places, '(%d+) ([^: ]+:(%d+))') do
if unserved(sequence) then
redis.call('ZADD', queue, ticket, member)
end
end
keep(queue, WINDOW + RETENTION)
end
local function putBackAllButFirst()
local head = string.match(run, '^%d+')
putBack(function(sequence)
return sequence ~= head
end)
end
local function vacate()
forget(holder)
holder = ''
redis.call('HSET', hash, 'grant', '')
end
local function lapse()
if string.find(run, ',', 1, true) then
local _, heard = parse(recordOf(holder))
if heard and heard ~= '-' and isThisServer(heard) and (listeners(holder) or 0) > 0 then
putBackAllButFirst()
end
end
vacate()
end
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
redis.call('PEXPIRE', hash, rest(REST))
keep(clients, REST)
end
end
local rank = redis.call('ZRANK', queue, ARGV[2])
redis.call('ZREM', queue, ARGV[2])
if ARGV[3] == 'waiting' then
speak()
end
settle()
if redis.call('ZCARD', queue) == 0 then
keep(clients, REST)
end
return answer('LEFT', held() and label or '', held() and now - since or 0, rank or -1)`,
} as const;

export const release = {
  name: 'release',
  numberOfKeys: 3,
  sha1: '057633d5d7bc4266d94fb82beaf5f74ccd8f027d',
  lua: `local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local client = ARGV[1]
local RETENTION = 60000
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local micros = time[1] * 1000000 + time[2]
local function int(number)
return string.format('%.0f', number)
end
local fields = redis.call('HMGET', hash, 'grant', 'token', 'done')
local holder, first, run, since, leaseEnd, label = '', 0, '', 0, 0, ''
if fields[1] and fields[1] ~= '' then
holder, first, run, since, leaseEnd, label = string.match(fields[1], '^(%S+) (%d+) (%S+) (%d+) (%d+) (.*)$')
first, since, leaseEnd = tonumber(first), tonumber(since), tonumber(leaseEnd)
end
local token = tonumber(fields[2] or 0)
local function held()
return holder ~= ''
end
local function holds(sequence)
return holder == client and leaseEnd > now
and string.find(',' .. run .. ',', ',' .. sequence .. ',', 1, true) ~= nil
end
local function rest(usual)
if token > micros then
return math.ceil((token - micros) / 1000) + usual
end
return usual
end
local function pack(firstText)
return holder .. ' ' .. firstText .. ' ' .. run .. ' ' .. since .. ' ' .. leaseEnd .. ' ' .. label
end
local function grant(name, ids, count, lease, ttl, text)
first = math.max(token, micros - 1) + 1
token = first + count - 1
holder, run, since, leaseEnd, label = name, ids, now, now + lease, text
local firstText = int(first)
redis.call('HSET', hash, 'grant', pack(firstText), 'token', count == 1 and firstText or int(token))
redis.call('PEXPIRE', hash, ttl)
end
local outbox = {}
local askAgainAt
local record
local function readRecord()
if record == nil then
record = redis.call('HGET', hash, 'c:' .. client)
end
return record
end
local function answer(status, a, b, c)
for _, message in ipairs(outbox) do
redis.pcall('PUBLISH', message[1], message[2])
end
local wake = -1
local owed = askAgainAt and 1 or 0
if askAgainAt then
wake = math.max(0, askAgainAt - now)
elseif held() then
wake = math.max(0, leaseEnd - now)
end
local text = readRecord()
local generation = text and tonumber(string.match(text, '^%d+')) or 0
if holder == client and leaseEnd > now then
return { status, now, generation, wake, owed, run, first, leaseEnd - now, a, b, c }
end
return { status, now, generation, wake, owed, '', 0, 0, a, b, c }
end
if not (held() and holder == client and first == tonumber(ARGV[2])) then
local done = fields[3] and string.match(fields[3], '^%d+')
return answer(done == ARGV[2] and 'RELEASED' or 'LOST')
end
local waiting = redis.call('ZCARD', queue)
redis.call('PEXPIRE', hash, waiting == 0 and rest(ARGV[4]) or RETENTION)
redis.call('HSET', hash, 'grant', '', 'done', ARGV[2] .. ' ' .. client .. ':' .. ARGV[3])
holder = ''
local unserved = ARGV[8]
if waiting == 0 and unserved == '' then
return { 'RELEASED', now }
end
local settings, caller = ARGV[6], ARGV[7]
local WINDOW, LEASE, GRACE, MAX_RUN, REST, CHANNEL = string.match(settings, '^(%d+) (%d+) (%d+) (%d+) (%d+) (.*)$')
WINDOW, LEASE, GRACE, MAX_RUN = tonumber(WINDOW), tonumber(LEASE), tonumber(GRACE), tonumber(MAX_RUN)
local SWEEP = 1000
local STALE = 16
local callerSpoke, callerWasInTouch = false, false
local function keep(key, ttl)
local size = redis.pcall('ZCARD', key)
if type(size) == 'number' and size > 0 then
redis.call('PEXPIRE', key, ttl)
end
end
local function parse(text)
if not text then
return nil
end
local generation, heard, since, doubt, where = string.match(text, '^(%d+) (%S+) (%d+) (%d+) (.*)$')
return tonumber(generation), heard, tonumber(since), tonumber(doubt), where
end
local function recordOf(name)
if name == client then
return readRecord()
end
return redis.call('HGET', hash, 'c:' .. name)
end
local function write(name, generation, heard, since, doubt, where)
local text = int(generation) .. ' ' .. heard .. ' ' .. int(since) .. ' ' .. int(doubt) .. ' ' .. where
redis.call('HSET', hash, 'c:' .. name, text)
if name == client then
record = text
end
end
local function forget(name)
redis.call('HDEL', hash, 'c:' .. name)
if name == client then
record = false
end
end
local graceUntil
local function inGrace()
if not graceUntil then
graceUntil = tonumber(redis.call('HGET', hash, 'grace') or 0)
local newest = 0
local latest = redis.call('ZREVRANGE', clients, 0, 1, 'WITHSCORES')
for i = 1, #latest, 2 do
if latest[i] ~= client then
newest = math.max(newest, tonumber(latest[i + 1]))
end
end
if not callerWasInTouch and newest < now and newest > graceUntil then
graceUntil = now + WINDOW
redis.call('HSET', hash, 'grace', graceUntil)
end
end
return now <= graceUntil
end
local function speak()
local heard, heardFor, where = string.match(caller, '^(%S+) (%d+) (.*)$')
local since = now - tonumber(heardFor)
local deadline = redis.call('ZSCORE', clients, client)
callerSpoke = true
callerWasInTouch = deadline and tonumber(deadline) >= now
if deadline and not callerWasInTouch then
inGrace()
end
local generation, heardBefore, sinceBefore, doubt = parse(readRecord())
if not generation or not deadline then
generation = micros
local stale = redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)
for _, name in ipairs(stale) do
redis.call('HDEL', hash, 'c:' .. name)
redis.call('ZREM', clients, name)
end
write(client, generation, heard, since, 0, where)
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
elseif heard ~= heardBefore or doubt ~= 0 or math.abs(since - sinceBefore) > GRACE / 2 then
write(client, generation, heard, since, 0, where)
end
redis.call('ZADD', clients, now + WINDOW, client)
keep(clients, WINDOW + RETENTION)
end
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
local function judge(name)
local deadline = redis.call('ZSCORE', clients, name)
if not deadline then
redis.call('ZADD', clients, now + WINDOW, name)
keep(clients, WINDOW + RETENTION)
forget(name)
return LIVE, now
end
deadline = tonumber(deadline)
if deadline == 0 or (deadline < now and not inGrace()) then
return DEAD
end
local generation, heard, since, doubt, where = parse(recordOf(name))
if not generation or heard == '-' then
return LIVE, now
end
local count = listeners(name)
if count == nil or count > 0 or not isThisServer(heard) then
if doubt ~= 0 then
write(name, generation, heard, since, 0, where)
end
return LIVE, since
end
if callerSpoke and name == client then
return LIVE, now
end
if doubt == 0 then
doubt = micros
write(name, generation, heard, since, doubt, where)
end
if micros - doubt >= GRACE * 1000 then
return DEAD
end
return DOUBTFUL, doubt, deadline - WINDOW
end
local function drop(members)
if #members == 0 then
return
end
redis.call('ZREM', queue, unpack(members))
local seen = {}
for _, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
if not seen[name] then
seen[name] = true
forget(name)
redis.call('ZADD', clients, 'XX', 0, name)
end
end
end
local function give(name, rank, known)
local _, _, sequence, fixed = string.find(known[1], '^[^:]+:(%d+):?(%d*)$')
local ids, count, lease, places = { sequence }, 1, LEASE, nil
if fixed ~= '' then
lease = tonumber(fixed)
elseif known[2] and string.match(known[2], '^([^:]+):%d+$') == name then
local members = redis.call('ZRANGE', queue, rank, rank + MAX_RUN - 1, 'WITHSCORES')
places = members[2] .. ' ' .. members[1]
for i = 3, #members, 2 do
local owner, id = string.match(members[i], '^([^:]+):(%d+)$')
if owner ~= name then
break
end
count = count + 1
ids[count] = id
places = places .. ' ' .. members[i + 1] .. ' ' .. members[i]
end
end
redis.call('ZREMRANGEBYRANK', queue, rank, rank + count - 1)
local _, _, _, _, where = parse(recordOf(name))
lease = math.min(WINDOW, lease)
grant(name, table.concat(ids, ','), count, lease, lease + RETENTION, where or '')
if places then
redis.call('HSET', hash, 'places', int(first) .. ' ' .. places)
end
if redis.call('ZCARD', queue) == 0 then
keep(clients, REST)
end
if name ~= client then
local left = leaseEnd - now
outbox[#outbox + 1] = {
CHANNEL .. name,
'G ' .. now .. ' ' .. left .. ' ' .. int(first) .. ' ' .. run .. ' ' .. hash
}
end
end
local function walk(visit)
local verdicts = {}
local rank, looked, chunk = 0, 0, 2
while looked < SWEEP do
local members = redis.call('ZRANGE', queue, rank, rank + chunk - 1)
local dead = {}
for i, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
if not verdicts[name] then
local verdict, since, spoke = judge(name)
verdicts[name] = { name = name, verdict = verdict, since = since, spoke = spoke }
end
if verdicts[name].verdict == DEAD then
dead[#dead + 1] = member
else
drop(dead)
dead = {}
local behind = members[i + 1] or redis.call('ZRANGE', queue, rank + 1, rank + 1)[1]
if visit(verdicts[name], rank, { member, behind }) then
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
askAgainAt = now
end
local function pass()
local doubted, spoke
walk(function(seen, rank, known)
if seen.verdict == DOUBTFUL then
doubted = math.min(doubted or seen.since, seen.since)
spoke = math.min(spoke or seen.spoke, seen.spoke)
askAgainAt = math.ceil(doubted / 1000) + GRACE
return false
end
if doubted then
local late = tonumber(redis.call('ZSCORE', queue, known[1])) >= doubted
if late or (seen.since >= spoke and now - seen.since < GRACE) then
return true
end
end
askAgainAt = nil
give(seen.name, rank, known)
return true
end)
end
local function prune()
walk(function() return false end)
end
local function putBack(unserved)
local named, places = string.match(redis.call('HGET', hash, 'places') or '', '^(%d+) (.*)$')
if named ~= int(first) then
return
end
for ticket, member, sequence in string.gmatch(places, '(%d+) ([^: ]+:(%d+))') do
if unserved(sequence) then
redis.call('ZADD', queue, ticket, member)
end
end
keep(queue, WINDOW + RETENTION)
end
local function putBackAllButFirst()
local head = string.match(run, '^%d+')
putBack(function(sequence)
return sequence ~= head
end)
end
local function vacate()
forget(holder)
holder = ''
redis.call('HSET', hash, 'grant', '')
end
local function lapse()
if string.find(run, ',', 1, true) then
local _, heard = parse(recordOf(holder))
if heard and heard ~= '-' and isThisServer(heard) and (listeners(holder) or 0) > 0 then
putBackAllButFirst()
end
end
vacate()
end
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
redis.call('PEXPIRE', hash, rest(REST))
keep(clients, REST)
end
end
if unserved ~= '' then
putBack(function(sequence)
return string.find(unserved, ',' .. sequence .. ',', 1, true) ~= nil
end)
end
if ARGV[5] == 'waiting' then
speak()
end
pass()
return answer('RELEASED')`,
} as const;

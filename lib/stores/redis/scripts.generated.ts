// Made from scripts/*.lua by `npm run lua`. Do not edit.

export const acquire = {
  name: 'acquire',
  numberOfKeys: 3,
  sha1: '1c71098aee4d21056d8508685d602ffd472edca1',
  lua: `local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local stamp = time[1] .. string.sub('00000' .. time[2], -6)
local stampMs = string.sub(stamp, 1, 13)
local kept = redis.call('HGET', hash, 'grant')
local form = kept and string.byte(kept)
local F, V, H, W = 70, 86, 72, 87
local me = ARGV[1]
local expired = stampMs > ARGV[2]
local guard = ARGV[6]
local alone = form == F or not kept and redis.call('ZCARD', queue) == 0
if alone and not expired and not guard and string.sub(ARGV[5], 1, 16) < stamp then
local last, done = '', '-'
if kept then
last, done = string.match(kept, '^F(%d+) (.*)$')
end
if last < stamp and string.sub(done, -#me) ~= me then
redis.call('HSET', hash, 'grant', 'H' .. me .. ' ' .. stamp .. ' ' .. done .. ' ' .. ARGV[3])
redis.call('PEXPIRE', hash, ARGV[4])
return 'GRANTED ' .. stamp
end
end
local micros = tonumber(stamp)
local now = math.floor(micros / 1000)
local RETENTION = 60000
local client = string.match(ARGV[1], '^[^:]+')
local holder, run, first, since, from, token, done, lease, label = '', '', '0', '0', '0', '0', '-', '0', ''
if form == F or form == V then
token, done = string.match(kept, '^.(%d+) (.*)$')
elseif form == H or form == W then
holder, run, first, done, lease, label = string.match(kept, '^.([^:]+):(%d+) (%d+) (%S+) (%d+) (.*)$')
since, from, token = first, first, first
elseif form then
holder, run, first, since, from, token, done, lease, label =
string.match(kept, '^R([^:]+):(%S+) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (.*)$')
end
token = tonumber(token)
local leaseEnd = math.floor(from / 1000) + lease
local function int(number)
return string.format('%.0f', number)
end
local function held()
return holder ~= ''
end
local function heldFor()
return held() and now - math.floor(since / 1000) or 0
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
local wrote = false
local function allow()
if not wrote then
wrote = true
redis.call('PEXPIRE', hash, RETENTION)
end
end
local vacated, ttl = false, RETENTION
local function write(ms)
if held() then
redis.call('HSET', hash, 'grant', 'R' .. holder .. ':' .. run .. ' ' .. first .. ' ' .. since .. ' ' .. from .. ' '
.. int(token) .. ' ' .. done .. ' ' .. lease .. ' ' .. label)
else
redis.call('HSET', hash, 'grant', 'V' .. int(token) .. ' ' .. done)
end
redis.call('PEXPIRE', hash, ms)
end
local function grant(name, ids, count, duration, ms, text)
local byClock = token < micros
first = byClock and stamp or int(token + 1)
token = first + count - 1
holder, run, since, from, lease, label = name, ids, stamp, stamp, duration, text
leaseEnd = now + lease
vacated = false
if byClock and count == 1 then
redis.call('HSET', hash, 'grant', 'W' .. name .. ':' .. ids .. ' ' .. stamp .. ' ' .. done .. ' ' .. lease .. ' ' .. text)
redis.call('PEXPIRE', hash, ms)
else
write(ms)
end
end
local outbox = {}
local function finish()
if vacated then
allow()
write(ttl)
end
for _, message in ipairs(outbox) do
redis.pcall('PUBLISH', message[1], message[2])
end
end
local askAgainAt
local record
local function readRecord()
if record == nil then
record = redis.call('HGET', hash, 'c:' .. client)
end
return record
end
local function answer(status, a, b, c)
finish()
local wake = -1
local owed = askAgainAt and 1 or 0
if askAgainAt then
wake = math.max(0, askAgainAt - now)
elseif held() then
wake = math.max(0, leaseEnd - now)
end
local text = readRecord()
local generation = text and tonumber(string.match(text, '^%S+ %d+ %d+ (%d+)')) or 0
if holder == client and leaseEnd > now then
return { status, micros, generation, wake, owed, run, tonumber(first), leaseEnd - now, a, b, c }
end
return { status, micros, generation, wake, owed, '', 0, 0, a, b, c }
end
local sequence = string.match(me, '%d+$')
if expired then
return answer('EXPIRED')
end
if holds(sequence) then
return answer('GRANTED')
end
if string.sub(done, -#me) == me then
return answer('DONE')
end
local waiting = redis.call('ZCARD', queue)
local free = not held() or leaseEnd <= now
local seen, fixed, ownTicket, mode, maxQueue, terms = string.match(ARGV[5], '^(%d+) (%S+) (%d+) (%a+) (%S+) (.*)$')
seen, ownTicket, maxQueue = tonumber(seen), tonumber(ownTicket), tonumber(maxQueue)
local raised = seen > token
token = math.max(token, seen)
local MARKER_LIFE = 3600000
local mayGrant, grantableAt, trouble
if guard then
mayGrant = function()
if not grantableAt then
local maxLease, marker = string.match(guard, '^(%d+) (.*)$')
local info = redis.pcall('INFO', 'server')
local id = type(info) == 'string' and string.match(info, 'run_id:(%w+)')
local known = redis.pcall('HGET', marker, 'id')
grantableAt = math.huge
if not id or type(known) == 'table' then
trouble = not id and info or known
return false
end
local since, longest = redis.call('HGET', marker, 'since'), redis.call('HGET', marker, 'lease')
local lease = math.max(tonumber(maxLease), tonumber(longest or 0))
if known ~= id then
since = now
end
if known ~= id or longest ~= tostring(lease) then
local written = redis.pcall('HSET', marker, 'id', id, 'since', since, 'lease', lease)
if type(written) == 'table' then
trouble = written
return false
end
redis.call('PEXPIRE', marker, math.max(MARKER_LIFE, 10 * lease))
end
grantableAt = since + lease
end
return now >= grantableAt
end
end
if free and waiting == 0 and not string.find(run, ',', 1, true) and (not guard or mayGrant()) then
if held() then
redis.call('HDEL', hash, 'c:' .. holder)
end
local duration, text = string.match(ARGV[3], '^(%d+) (.*)$')
grant(client, sequence, 1, duration, ARGV[4], text)
return answer('GRANTED')
end
local FIRST, FIRST_TTL, HEARD, heardForMs, WHERE, WINDOW, GRACE, MAX_RUN, REST =
string.match(terms, '^(%d+) (%d+) (%S+) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+)$')
WINDOW, GRACE = tonumber(WINDOW), tonumber(GRACE)
local OWNER = WHERE .. ' ' .. WINDOW
local STALE = 16
local callerSpoke, callerWasInTouch = false, false
local function keep(key, ttl)
local size = redis.pcall('ZCARD', key)
if type(size) == 'number' and size > 0 then
redis.call('PEXPIRE', key, ttl)
end
end
local function crowd()
if form == F or form == H then
redis.call('HSET', hash, 'grant', (form == F and 'V' or 'W') .. string.sub(kept, 2))
end
end
local function lastTicket()
return tonumber(redis.call('HGET', hash, 'ticket') or redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0)
end
local function parse(text)
if not text then
return nil
end
local heard, doubt, since, generation, owner = string.match(text, '^(%S+) (%d+) (%d+) (%d+) (.*)$')
return tonumber(generation), heard, tonumber(since), tonumber(doubt), owner
end
local function recordOf(name)
if name == client then
return readRecord()
end
return redis.call('HGET', hash, 'c:' .. name)
end
local function note(name, generation, heard, since, doubt, owner)
local text = heard .. ' ' .. int(doubt) .. ' ' .. int(since) .. ' ' .. int(generation) .. ' ' .. owner
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
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
end
end
return now <= graceUntil
end
local function speak()
local since = now - tonumber(heardForMs)
local deadline = redis.call('ZSCORE', clients, client)
callerSpoke = true
callerWasInTouch = deadline and tonumber(deadline) >= now
if deadline and not callerWasInTouch then
inGrace()
end
local generation, heardBefore, sinceBefore, doubt = parse(readRecord())
local known = generation and deadline
if not known then
generation = micros
local stale = redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)
for _, name in ipairs(stale) do
redis.call('HDEL', hash, 'c:' .. name)
redis.call('ZREM', clients, name)
end
note(client, generation, HEARD, since, 0, OWNER)
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
elseif HEARD ~= heardBefore or doubt ~= 0 or math.abs(since - sinceBefore) > GRACE / 2 then
note(client, generation, HEARD, since, 0, OWNER)
end
redis.call('ZADD', clients, now + WINDOW, client)
if not known then
redis.call('PEXPIRE', clients, WINDOW + RETENTION)
end
end
local member = me .. (fixed == '-' and '' or ':' .. fixed)
local ticket = tonumber(redis.call('ZSCORE', queue, member) or nil)
local newcomer = not ticket and ownTicket == 0
local function join()
speak()
if not ticket or (ownTicket > 0 and ownTicket < ticket) then
local last = lastTicket()
local text
if ownTicket > 0 then
ticket, text = ownTicket, int(ownTicket)
elseif last < micros then
ticket, text = micros, stamp
else
ticket, text = last + 1, int(last + 1)
end
crowd()
redis.call('ZADD', queue, text, member)
if waiting == 0 then
redis.call('PEXPIRE', queue, WINDOW + RETENTION)
end
if ticket > last then
redis.call('HSET', hash, 'ticket', text)
end
if raised then
write(math.max(0, leaseEnd - now) + RETENTION)
end
end
end
local function queued()
local _, commas = string.gsub(run, ',', '')
return answer('QUEUED', ticket, (newcomer and not free and waiting or redis.call('ZRANK', queue, member) or 0) + commas)
end
local crowded = newcomer and maxQueue >= 0 and waiting >= maxQueue
if mode == 'wait' and not free and not crowded then
join()
return queued()
end
local SWEEP = 1000
local CHANNEL = string.match(hash, '^[^{]*') .. 'client:'
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
allow()
redis.call('ZADD', clients, now + WINDOW, name)
keep(clients, WINDOW + RETENTION)
forget(name)
return LIVE
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
return LIVE
end
local count = listeners(name)
local undoubted = string.find(text, '^%S+ 0 ')
if undoubted and count and count > 0 then
return LIVE, nil, nil, text
end
local generation, heard, since, doubt, owner = parse(text)
if count == nil or count > 0 or not isThisServer(heard) then
if doubt ~= 0 then
allow()
note(name, generation, heard, since, 0, owner)
end
return LIVE, nil, nil, text
end
if callerSpoke and name == client then
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
return DOUBTFUL, doubt, deadline - string.match(owner, '%d+$')
end
local function drop(members)
if #members == 0 then
return
end
wrote = true
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
local function give(name, rank, head, behind)
local sequence, fixed = string.match(head, '^[^:]+:(%d+):?(%d*)$')
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
local function walk(visit)
local verdicts = {}
local rank, looked, chunk = 0, 0, 2
while looked < SWEEP do
local members = redis.call('ZRANGE', queue, rank, rank + chunk - 1)
local dead = {}
for i, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
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
askAgainAt = now
end
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
local function prune()
walk(function() return false end)
end
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
holder, run, vacated = '', '', true
end
local function lapse()
if string.find(run, ',', 1, true) then
local _, heard = parse(recordOf(holder))
if holder == client or listeners(holder) ~= 0 or not isThisServer(heard) then
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
ttl = rest(REST)
redis.call('PEXPIRE', hash, ttl)
keep(clients, REST)
end
end
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
if mode == 'try' then
if free then
allow()
settle()
end
return answer('BUSY', whoHolds(), heldFor())
end
if crowded then
keep(queue, WINDOW + RETENTION)
prune()
waiting = redis.call('ZCARD', queue)
if waiting >= maxQueue then
return answer('FULL', waiting)
end
end
if free then
allow()
end
join()
if free then
settle()
if holds(sequence) then
return answer('GRANTED')
end
end
return queued()`,
} as const;

export const forceRelease = {
  name: 'forceRelease',
  numberOfKeys: 3,
  sha1: '4b620bb54472c55f321a729f13bbb9c0e546b3aa',
  lua: `local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local stamp = time[1] .. string.sub('00000' .. time[2], -6)
local stampMs = string.sub(stamp, 1, 13)
local kept = redis.call('HGET', hash, 'grant')
local form = kept and string.byte(kept)
local F, V, H, W = 70, 86, 72, 87
local micros = tonumber(stamp)
local now = math.floor(micros / 1000)
local RETENTION = 60000
local client = string.match(ARGV[1], '^[^:]+')
local holder, run, first, since, from, token, done, lease, label = '', '', '0', '0', '0', '0', '-', '0', ''
if form == F or form == V then
token, done = string.match(kept, '^.(%d+) (.*)$')
elseif form == H or form == W then
holder, run, first, done, lease, label = string.match(kept, '^.([^:]+):(%d+) (%d+) (%S+) (%d+) (.*)$')
since, from, token = first, first, first
elseif form then
holder, run, first, since, from, token, done, lease, label =
string.match(kept, '^R([^:]+):(%S+) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (.*)$')
end
token = tonumber(token)
local leaseEnd = math.floor(from / 1000) + lease
local function int(number)
return string.format('%.0f', number)
end
local function held()
return holder ~= ''
end
local function heldFor()
return held() and now - math.floor(since / 1000) or 0
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
local wrote = false
local function allow()
if not wrote then
wrote = true
redis.call('PEXPIRE', hash, RETENTION)
end
end
local vacated, ttl = false, RETENTION
local function write(ms)
if held() then
redis.call('HSET', hash, 'grant', 'R' .. holder .. ':' .. run .. ' ' .. first .. ' ' .. since .. ' ' .. from .. ' '
.. int(token) .. ' ' .. done .. ' ' .. lease .. ' ' .. label)
else
redis.call('HSET', hash, 'grant', 'V' .. int(token) .. ' ' .. done)
end
redis.call('PEXPIRE', hash, ms)
end
local function grant(name, ids, count, duration, ms, text)
local byClock = token < micros
first = byClock and stamp or int(token + 1)
token = first + count - 1
holder, run, since, from, lease, label = name, ids, stamp, stamp, duration, text
leaseEnd = now + lease
vacated = false
if byClock and count == 1 then
redis.call('HSET', hash, 'grant', 'W' .. name .. ':' .. ids .. ' ' .. stamp .. ' ' .. done .. ' ' .. lease .. ' ' .. text)
redis.call('PEXPIRE', hash, ms)
else
write(ms)
end
end
local outbox = {}
local function finish()
if vacated then
allow()
write(ttl)
end
for _, message in ipairs(outbox) do
redis.pcall('PUBLISH', message[1], message[2])
end
end
local askAgainAt
local record
local function readRecord()
if record == nil then
record = redis.call('HGET', hash, 'c:' .. client)
end
return record
end
local function answer(status, a, b, c)
finish()
local wake = -1
local owed = askAgainAt and 1 or 0
if askAgainAt then
wake = math.max(0, askAgainAt - now)
elseif held() then
wake = math.max(0, leaseEnd - now)
end
local text = readRecord()
local generation = text and tonumber(string.match(text, '^%S+ %d+ %d+ (%d+)')) or 0
if holder == client and leaseEnd > now then
return { status, micros, generation, wake, owed, run, tonumber(first), leaseEnd - now, a, b, c }
end
return { status, micros, generation, wake, owed, '', 0, 0, a, b, c }
end
local terms, guard = ARGV[3], ARGV[4]
local FIRST, FIRST_TTL, HEARD, heardForMs, WHERE, WINDOW, GRACE, MAX_RUN, REST =
string.match(terms, '^(%d+) (%d+) (%S+) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+)$')
WINDOW, GRACE = tonumber(WINDOW), tonumber(GRACE)
local OWNER = WHERE .. ' ' .. WINDOW
local STALE = 16
local callerSpoke, callerWasInTouch = false, false
local function keep(key, ttl)
local size = redis.pcall('ZCARD', key)
if type(size) == 'number' and size > 0 then
redis.call('PEXPIRE', key, ttl)
end
end
local function crowd()
if form == F or form == H then
redis.call('HSET', hash, 'grant', (form == F and 'V' or 'W') .. string.sub(kept, 2))
end
end
local function lastTicket()
return tonumber(redis.call('HGET', hash, 'ticket') or redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0)
end
local function parse(text)
if not text then
return nil
end
local heard, doubt, since, generation, owner = string.match(text, '^(%S+) (%d+) (%d+) (%d+) (.*)$')
return tonumber(generation), heard, tonumber(since), tonumber(doubt), owner
end
local function recordOf(name)
if name == client then
return readRecord()
end
return redis.call('HGET', hash, 'c:' .. name)
end
local function note(name, generation, heard, since, doubt, owner)
local text = heard .. ' ' .. int(doubt) .. ' ' .. int(since) .. ' ' .. int(generation) .. ' ' .. owner
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
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
end
end
return now <= graceUntil
end
local function speak()
local since = now - tonumber(heardForMs)
local deadline = redis.call('ZSCORE', clients, client)
callerSpoke = true
callerWasInTouch = deadline and tonumber(deadline) >= now
if deadline and not callerWasInTouch then
inGrace()
end
local generation, heardBefore, sinceBefore, doubt = parse(readRecord())
local known = generation and deadline
if not known then
generation = micros
local stale = redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)
for _, name in ipairs(stale) do
redis.call('HDEL', hash, 'c:' .. name)
redis.call('ZREM', clients, name)
end
note(client, generation, HEARD, since, 0, OWNER)
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
elseif HEARD ~= heardBefore or doubt ~= 0 or math.abs(since - sinceBefore) > GRACE / 2 then
note(client, generation, HEARD, since, 0, OWNER)
end
redis.call('ZADD', clients, now + WINDOW, client)
if not known then
redis.call('PEXPIRE', clients, WINDOW + RETENTION)
end
end
local MARKER_LIFE = 3600000
local mayGrant, grantableAt, trouble
if guard then
mayGrant = function()
if not grantableAt then
local maxLease, marker = string.match(guard, '^(%d+) (.*)$')
local info = redis.pcall('INFO', 'server')
local id = type(info) == 'string' and string.match(info, 'run_id:(%w+)')
local known = redis.pcall('HGET', marker, 'id')
grantableAt = math.huge
if not id or type(known) == 'table' then
trouble = not id and info or known
return false
end
local since, longest = redis.call('HGET', marker, 'since'), redis.call('HGET', marker, 'lease')
local lease = math.max(tonumber(maxLease), tonumber(longest or 0))
if known ~= id then
since = now
end
if known ~= id or longest ~= tostring(lease) then
local written = redis.pcall('HSET', marker, 'id', id, 'since', since, 'lease', lease)
if type(written) == 'table' then
trouble = written
return false
end
redis.call('PEXPIRE', marker, math.max(MARKER_LIFE, 10 * lease))
end
grantableAt = since + lease
end
return now >= grantableAt
end
end
local SWEEP = 1000
local CHANNEL = string.match(hash, '^[^{]*') .. 'client:'
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
allow()
redis.call('ZADD', clients, now + WINDOW, name)
keep(clients, WINDOW + RETENTION)
forget(name)
return LIVE
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
return LIVE
end
local count = listeners(name)
local undoubted = string.find(text, '^%S+ 0 ')
if undoubted and count and count > 0 then
return LIVE, nil, nil, text
end
local generation, heard, since, doubt, owner = parse(text)
if count == nil or count > 0 or not isThisServer(heard) then
if doubt ~= 0 then
allow()
note(name, generation, heard, since, 0, owner)
end
return LIVE, nil, nil, text
end
if callerSpoke and name == client then
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
return DOUBTFUL, doubt, deadline - string.match(owner, '%d+$')
end
local function drop(members)
if #members == 0 then
return
end
wrote = true
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
local function give(name, rank, head, behind)
local sequence, fixed = string.match(head, '^[^:]+:(%d+):?(%d*)$')
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
local function walk(visit)
local verdicts = {}
local rank, looked, chunk = 0, 0, 2
while looked < SWEEP do
local members = redis.call('ZRANGE', queue, rank, rank + chunk - 1)
local dead = {}
for i, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
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
askAgainAt = now
end
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
local function prune()
walk(function() return false end)
end
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
holder, run, vacated = '', '', true
end
local function lapse()
if string.find(run, ',', 1, true) then
local _, heard = parse(recordOf(holder))
if holder == client or listeners(holder) ~= 0 or not isThisServer(heard) then
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
ttl = rest(REST)
redis.call('PEXPIRE', hash, ttl)
keep(clients, REST)
end
end
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
local status = 'FREE'
if done == ARGV[2] .. ':forced' then
status = 'FORCED'
elseif held() and leaseEnd > now and first == ARGV[2] then
status = 'FORCED'
outbox[1] = { CHANNEL .. holder, 'L ' .. stamp .. ' ' .. first .. ' ' .. hash }
allow()
putBackAllButFirst()
done = first .. ':forced'
vacate()
end
settle()
return answer(status)`,
} as const;

export const heartbeat = {
  name: 'heartbeat',
  numberOfKeys: 3,
  sha1: 'dbfb993332b7616e0db2ade015355301157c51a2',
  lua: `local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local stamp = time[1] .. string.sub('00000' .. time[2], -6)
local stampMs = string.sub(stamp, 1, 13)
local kept = redis.call('HGET', hash, 'grant')
local form = kept and string.byte(kept)
local F, V, H, W = 70, 86, 72, 87
local micros = tonumber(stamp)
local now = math.floor(micros / 1000)
local RETENTION = 60000
local client = string.match(ARGV[1], '^[^:]+')
local holder, run, first, since, from, token, done, lease, label = '', '', '0', '0', '0', '0', '-', '0', ''
if form == F or form == V then
token, done = string.match(kept, '^.(%d+) (.*)$')
elseif form == H or form == W then
holder, run, first, done, lease, label = string.match(kept, '^.([^:]+):(%d+) (%d+) (%S+) (%d+) (.*)$')
since, from, token = first, first, first
elseif form then
holder, run, first, since, from, token, done, lease, label =
string.match(kept, '^R([^:]+):(%S+) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (.*)$')
end
token = tonumber(token)
local leaseEnd = math.floor(from / 1000) + lease
local function int(number)
return string.format('%.0f', number)
end
local function held()
return holder ~= ''
end
local function heldFor()
return held() and now - math.floor(since / 1000) or 0
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
local wrote = false
local function allow()
if not wrote then
wrote = true
redis.call('PEXPIRE', hash, RETENTION)
end
end
local vacated, ttl = false, RETENTION
local function write(ms)
if held() then
redis.call('HSET', hash, 'grant', 'R' .. holder .. ':' .. run .. ' ' .. first .. ' ' .. since .. ' ' .. from .. ' '
.. int(token) .. ' ' .. done .. ' ' .. lease .. ' ' .. label)
else
redis.call('HSET', hash, 'grant', 'V' .. int(token) .. ' ' .. done)
end
redis.call('PEXPIRE', hash, ms)
end
local function grant(name, ids, count, duration, ms, text)
local byClock = token < micros
first = byClock and stamp or int(token + 1)
token = first + count - 1
holder, run, since, from, lease, label = name, ids, stamp, stamp, duration, text
leaseEnd = now + lease
vacated = false
if byClock and count == 1 then
redis.call('HSET', hash, 'grant', 'W' .. name .. ':' .. ids .. ' ' .. stamp .. ' ' .. done .. ' ' .. lease .. ' ' .. text)
redis.call('PEXPIRE', hash, ms)
else
write(ms)
end
end
local outbox = {}
local function finish()
if vacated then
allow()
write(ttl)
end
for _, message in ipairs(outbox) do
redis.pcall('PUBLISH', message[1], message[2])
end
end
local askAgainAt
local record
local function readRecord()
if record == nil then
record = redis.call('HGET', hash, 'c:' .. client)
end
return record
end
local function answer(status, a, b, c)
finish()
local wake = -1
local owed = askAgainAt and 1 or 0
if askAgainAt then
wake = math.max(0, askAgainAt - now)
elseif held() then
wake = math.max(0, leaseEnd - now)
end
local text = readRecord()
local generation = text and tonumber(string.match(text, '^%S+ %d+ %d+ (%d+)')) or 0
if holder == client and leaseEnd > now then
return { status, micros, generation, wake, owed, run, tonumber(first), leaseEnd - now, a, b, c }
end
return { status, micros, generation, wake, owed, '', 0, 0, a, b, c }
end
if now > tonumber(ARGV[2]) then
return answer('EXPIRED')
end
local terms, guard = ARGV[11], ARGV[12]
local FIRST, FIRST_TTL, HEARD, heardForMs, WHERE, WINDOW, GRACE, MAX_RUN, REST =
string.match(terms, '^(%d+) (%d+) (%S+) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+)$')
WINDOW, GRACE = tonumber(WINDOW), tonumber(GRACE)
local OWNER = WHERE .. ' ' .. WINDOW
local STALE = 16
local callerSpoke, callerWasInTouch = false, false
local function keep(key, ttl)
local size = redis.pcall('ZCARD', key)
if type(size) == 'number' and size > 0 then
redis.call('PEXPIRE', key, ttl)
end
end
local function crowd()
if form == F or form == H then
redis.call('HSET', hash, 'grant', (form == F and 'V' or 'W') .. string.sub(kept, 2))
end
end
local function lastTicket()
return tonumber(redis.call('HGET', hash, 'ticket') or redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0)
end
local function parse(text)
if not text then
return nil
end
local heard, doubt, since, generation, owner = string.match(text, '^(%S+) (%d+) (%d+) (%d+) (.*)$')
return tonumber(generation), heard, tonumber(since), tonumber(doubt), owner
end
local function recordOf(name)
if name == client then
return readRecord()
end
return redis.call('HGET', hash, 'c:' .. name)
end
local function note(name, generation, heard, since, doubt, owner)
local text = heard .. ' ' .. int(doubt) .. ' ' .. int(since) .. ' ' .. int(generation) .. ' ' .. owner
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
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
end
end
return now <= graceUntil
end
local function speak()
local since = now - tonumber(heardForMs)
local deadline = redis.call('ZSCORE', clients, client)
callerSpoke = true
callerWasInTouch = deadline and tonumber(deadline) >= now
if deadline and not callerWasInTouch then
inGrace()
end
local generation, heardBefore, sinceBefore, doubt = parse(readRecord())
local known = generation and deadline
if not known then
generation = micros
local stale = redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)
for _, name in ipairs(stale) do
redis.call('HDEL', hash, 'c:' .. name)
redis.call('ZREM', clients, name)
end
note(client, generation, HEARD, since, 0, OWNER)
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
elseif HEARD ~= heardBefore or doubt ~= 0 or math.abs(since - sinceBefore) > GRACE / 2 then
note(client, generation, HEARD, since, 0, OWNER)
end
redis.call('ZADD', clients, now + WINDOW, client)
if not known then
redis.call('PEXPIRE', clients, WINDOW + RETENTION)
end
end
local MARKER_LIFE = 3600000
local mayGrant, grantableAt, trouble
if guard then
mayGrant = function()
if not grantableAt then
local maxLease, marker = string.match(guard, '^(%d+) (.*)$')
local info = redis.pcall('INFO', 'server')
local id = type(info) == 'string' and string.match(info, 'run_id:(%w+)')
local known = redis.pcall('HGET', marker, 'id')
grantableAt = math.huge
if not id or type(known) == 'table' then
trouble = not id and info or known
return false
end
local since, longest = redis.call('HGET', marker, 'since'), redis.call('HGET', marker, 'lease')
local lease = math.max(tonumber(maxLease), tonumber(longest or 0))
if known ~= id then
since = now
end
if known ~= id or longest ~= tostring(lease) then
local written = redis.pcall('HSET', marker, 'id', id, 'since', since, 'lease', lease)
if type(written) == 'table' then
trouble = written
return false
end
redis.call('PEXPIRE', marker, math.max(MARKER_LIFE, 10 * lease))
end
grantableAt = since + lease
end
return now >= grantableAt
end
end
local SWEEP = 1000
local CHANNEL = string.match(hash, '^[^{]*') .. 'client:'
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
allow()
redis.call('ZADD', clients, now + WINDOW, name)
keep(clients, WINDOW + RETENTION)
forget(name)
return LIVE
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
return LIVE
end
local count = listeners(name)
local undoubted = string.find(text, '^%S+ 0 ')
if undoubted and count and count > 0 then
return LIVE, nil, nil, text
end
local generation, heard, since, doubt, owner = parse(text)
if count == nil or count > 0 or not isThisServer(heard) then
if doubt ~= 0 then
allow()
note(name, generation, heard, since, 0, owner)
end
return LIVE, nil, nil, text
end
if callerSpoke and name == client then
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
return DOUBTFUL, doubt, deadline - string.match(owner, '%d+$')
end
local function drop(members)
if #members == 0 then
return
end
wrote = true
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
local function give(name, rank, head, behind)
local sequence, fixed = string.match(head, '^[^:]+:(%d+):?(%d*)$')
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
local function walk(visit)
local verdicts = {}
local rank, looked, chunk = 0, 0, 2
while looked < SWEEP do
local members = redis.call('ZRANGE', queue, rank, rank + chunk - 1)
local dead = {}
for i, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
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
askAgainAt = now
end
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
local function prune()
walk(function() return false end)
end
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
holder, run, vacated = '', '', true
end
local function lapse()
if string.find(run, ',', 1, true) then
local _, heard = parse(recordOf(holder))
if holder == client or listeners(holder) ~= 0 or not isThisServer(heard) then
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
ttl = rest(REST)
redis.call('PEXPIRE', hash, ttl)
keep(clients, REST)
end
end
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
wrote = true
redis.call('PEXPIRE', hash, math.max(0, held() and leaseEnd - now or 0) + RETENTION + WINDOW)
keep(queue, WINDOW + RETENTION)
if holder == client and leaseEnd <= now and client .. ':' .. run == ARGV[9] and (not guard or mayGrant()) then
grant(client, run, 1, FIRST, FIRST_TTL, '')
end
if ARGV[7] == 'waiting' then
if ARGV[8] ~= '' and not redis.call('ZSCORE', queue, ARGV[9]) and not holds(ARGV[8]) then
forget(client)
end
speak()
keep(clients, WINDOW + RETENTION)
end
local status = 'GONE'
if held() and holder == client and first == ARGV[3] and leaseEnd > now then
status = 'RENEWED'
local start = ARGV[4] == 'fixed' and since or stamp
local ends = math.floor(start / 1000) + ARGV[5]
if ends >= leaseEnd then
from, lease, leaseEnd = start, ARGV[5], ends
end
label = ARGV[6]
write(leaseEnd - now + RETENTION)
else
settle()
end
local heardBy = listeners(client)
if ARGV[10] == 'ping' then
outbox[#outbox + 1] = { CHANNEL .. client, 'P' }
end
if status == 'RENEWED' and ARGV[7] == 'idle' then
finish()
return 'RENEWED ' .. stamp .. ' ' .. leaseEnd - now .. ' ' .. (heardBy or -1)
end
return answer(status, heardBy or -1)`,
} as const;

export const inspect = {
  name: 'inspect',
  numberOfKeys: 3,
  sha1: '47f752f2e677150f07fbfb94ac07787e0d5045e8',
  lua: `local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local stamp = time[1] .. string.sub('00000' .. time[2], -6)
local stampMs = string.sub(stamp, 1, 13)
local kept = redis.call('HGET', hash, 'grant')
local form = kept and string.byte(kept)
local F, V, H, W = 70, 86, 72, 87
local micros = tonumber(stamp)
local now = math.floor(micros / 1000)
local RETENTION = 60000
local client = string.match(ARGV[1], '^[^:]+')
local holder, run, first, since, from, token, done, lease, label = '', '', '0', '0', '0', '0', '-', '0', ''
if form == F or form == V then
token, done = string.match(kept, '^.(%d+) (.*)$')
elseif form == H or form == W then
holder, run, first, done, lease, label = string.match(kept, '^.([^:]+):(%d+) (%d+) (%S+) (%d+) (.*)$')
since, from, token = first, first, first
elseif form then
holder, run, first, since, from, token, done, lease, label =
string.match(kept, '^R([^:]+):(%S+) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (.*)$')
end
token = tonumber(token)
local leaseEnd = math.floor(from / 1000) + lease
local function int(number)
return string.format('%.0f', number)
end
local function held()
return holder ~= ''
end
local function heldFor()
return held() and now - math.floor(since / 1000) or 0
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
local wrote = false
local function allow()
if not wrote then
wrote = true
redis.call('PEXPIRE', hash, RETENTION)
end
end
local vacated, ttl = false, RETENTION
local function write(ms)
if held() then
redis.call('HSET', hash, 'grant', 'R' .. holder .. ':' .. run .. ' ' .. first .. ' ' .. since .. ' ' .. from .. ' '
.. int(token) .. ' ' .. done .. ' ' .. lease .. ' ' .. label)
else
redis.call('HSET', hash, 'grant', 'V' .. int(token) .. ' ' .. done)
end
redis.call('PEXPIRE', hash, ms)
end
local function grant(name, ids, count, duration, ms, text)
local byClock = token < micros
first = byClock and stamp or int(token + 1)
token = first + count - 1
holder, run, since, from, lease, label = name, ids, stamp, stamp, duration, text
leaseEnd = now + lease
vacated = false
if byClock and count == 1 then
redis.call('HSET', hash, 'grant', 'W' .. name .. ':' .. ids .. ' ' .. stamp .. ' ' .. done .. ' ' .. lease .. ' ' .. text)
redis.call('PEXPIRE', hash, ms)
else
write(ms)
end
end
local outbox = {}
local function finish()
if vacated then
allow()
write(ttl)
end
for _, message in ipairs(outbox) do
redis.pcall('PUBLISH', message[1], message[2])
end
end
local askAgainAt
local record
local function readRecord()
if record == nil then
record = redis.call('HGET', hash, 'c:' .. client)
end
return record
end
local function answer(status, a, b, c)
finish()
local wake = -1
local owed = askAgainAt and 1 or 0
if askAgainAt then
wake = math.max(0, askAgainAt - now)
elseif held() then
wake = math.max(0, leaseEnd - now)
end
local text = readRecord()
local generation = text and tonumber(string.match(text, '^%S+ %d+ %d+ (%d+)')) or 0
if holder == client and leaseEnd > now then
return { status, micros, generation, wake, owed, run, tonumber(first), leaseEnd - now, a, b, c }
end
return { status, micros, generation, wake, owed, '', 0, 0, a, b, c }
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
local known = redis.call('HGET', hash, 'c:' .. holder) or ''
return { now, holder, label, tonumber(first), heldFor(), leaseEnd - now, length, waiters, known }
end
return { now, '', '', 0, 0, 0, length, waiters, '' }`,
} as const;

export const join = {
  name: 'join',
  numberOfKeys: 3,
  sha1: '19cfc55c568e0790247bf0cd79d0ecd629e34b58',
  lua: `local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local stamp = time[1] .. string.sub('00000' .. time[2], -6)
local stampMs = string.sub(stamp, 1, 13)
local kept = redis.call('HGET', hash, 'grant')
local form = kept and string.byte(kept)
local F, V, H, W = 70, 86, 72, 87
local micros = tonumber(stamp)
local now = math.floor(micros / 1000)
local RETENTION = 60000
local client = string.match(ARGV[1], '^[^:]+')
local holder, run, first, since, from, token, done, lease, label = '', '', '0', '0', '0', '0', '-', '0', ''
if form == F or form == V then
token, done = string.match(kept, '^.(%d+) (.*)$')
elseif form == H or form == W then
holder, run, first, done, lease, label = string.match(kept, '^.([^:]+):(%d+) (%d+) (%S+) (%d+) (.*)$')
since, from, token = first, first, first
elseif form then
holder, run, first, since, from, token, done, lease, label =
string.match(kept, '^R([^:]+):(%S+) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (.*)$')
end
token = tonumber(token)
local leaseEnd = math.floor(from / 1000) + lease
local function int(number)
return string.format('%.0f', number)
end
local function held()
return holder ~= ''
end
local function heldFor()
return held() and now - math.floor(since / 1000) or 0
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
local wrote = false
local function allow()
if not wrote then
wrote = true
redis.call('PEXPIRE', hash, RETENTION)
end
end
local vacated, ttl = false, RETENTION
local function write(ms)
if held() then
redis.call('HSET', hash, 'grant', 'R' .. holder .. ':' .. run .. ' ' .. first .. ' ' .. since .. ' ' .. from .. ' '
.. int(token) .. ' ' .. done .. ' ' .. lease .. ' ' .. label)
else
redis.call('HSET', hash, 'grant', 'V' .. int(token) .. ' ' .. done)
end
redis.call('PEXPIRE', hash, ms)
end
local function grant(name, ids, count, duration, ms, text)
local byClock = token < micros
first = byClock and stamp or int(token + 1)
token = first + count - 1
holder, run, since, from, lease, label = name, ids, stamp, stamp, duration, text
leaseEnd = now + lease
vacated = false
if byClock and count == 1 then
redis.call('HSET', hash, 'grant', 'W' .. name .. ':' .. ids .. ' ' .. stamp .. ' ' .. done .. ' ' .. lease .. ' ' .. text)
redis.call('PEXPIRE', hash, ms)
else
write(ms)
end
end
local outbox = {}
local function finish()
if vacated then
allow()
write(ttl)
end
for _, message in ipairs(outbox) do
redis.pcall('PUBLISH', message[1], message[2])
end
end
local askAgainAt
local record
local function readRecord()
if record == nil then
record = redis.call('HGET', hash, 'c:' .. client)
end
return record
end
local function answer(status, a, b, c)
finish()
local wake = -1
local owed = askAgainAt and 1 or 0
if askAgainAt then
wake = math.max(0, askAgainAt - now)
elseif held() then
wake = math.max(0, leaseEnd - now)
end
local text = readRecord()
local generation = text and tonumber(string.match(text, '^%S+ %d+ %d+ (%d+)')) or 0
if holder == client and leaseEnd > now then
return { status, micros, generation, wake, owed, run, tonumber(first), leaseEnd - now, a, b, c }
end
return { status, micros, generation, wake, owed, '', 0, 0, a, b, c }
end
local sequence, count = tonumber(ARGV[2]), tonumber(ARGV[3])
if now > tonumber(ARGV[4]) then
return answer('EXPIRED')
end
local terms, guard = ARGV[6], ARGV[7]
local FIRST, FIRST_TTL, HEARD, heardForMs, WHERE, WINDOW, GRACE, MAX_RUN, REST =
string.match(terms, '^(%d+) (%d+) (%S+) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+)$')
WINDOW, GRACE = tonumber(WINDOW), tonumber(GRACE)
local OWNER = WHERE .. ' ' .. WINDOW
local STALE = 16
local callerSpoke, callerWasInTouch = false, false
local function keep(key, ttl)
local size = redis.pcall('ZCARD', key)
if type(size) == 'number' and size > 0 then
redis.call('PEXPIRE', key, ttl)
end
end
local function crowd()
if form == F or form == H then
redis.call('HSET', hash, 'grant', (form == F and 'V' or 'W') .. string.sub(kept, 2))
end
end
local function lastTicket()
return tonumber(redis.call('HGET', hash, 'ticket') or redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0)
end
local function parse(text)
if not text then
return nil
end
local heard, doubt, since, generation, owner = string.match(text, '^(%S+) (%d+) (%d+) (%d+) (.*)$')
return tonumber(generation), heard, tonumber(since), tonumber(doubt), owner
end
local function recordOf(name)
if name == client then
return readRecord()
end
return redis.call('HGET', hash, 'c:' .. name)
end
local function note(name, generation, heard, since, doubt, owner)
local text = heard .. ' ' .. int(doubt) .. ' ' .. int(since) .. ' ' .. int(generation) .. ' ' .. owner
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
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
end
end
return now <= graceUntil
end
local function speak()
local since = now - tonumber(heardForMs)
local deadline = redis.call('ZSCORE', clients, client)
callerSpoke = true
callerWasInTouch = deadline and tonumber(deadline) >= now
if deadline and not callerWasInTouch then
inGrace()
end
local generation, heardBefore, sinceBefore, doubt = parse(readRecord())
local known = generation and deadline
if not known then
generation = micros
local stale = redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)
for _, name in ipairs(stale) do
redis.call('HDEL', hash, 'c:' .. name)
redis.call('ZREM', clients, name)
end
note(client, generation, HEARD, since, 0, OWNER)
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
elseif HEARD ~= heardBefore or doubt ~= 0 or math.abs(since - sinceBefore) > GRACE / 2 then
note(client, generation, HEARD, since, 0, OWNER)
end
redis.call('ZADD', clients, now + WINDOW, client)
if not known then
redis.call('PEXPIRE', clients, WINDOW + RETENTION)
end
end
local MARKER_LIFE = 3600000
local mayGrant, grantableAt, trouble
if guard then
mayGrant = function()
if not grantableAt then
local maxLease, marker = string.match(guard, '^(%d+) (.*)$')
local info = redis.pcall('INFO', 'server')
local id = type(info) == 'string' and string.match(info, 'run_id:(%w+)')
local known = redis.pcall('HGET', marker, 'id')
grantableAt = math.huge
if not id or type(known) == 'table' then
trouble = not id and info or known
return false
end
local since, longest = redis.call('HGET', marker, 'since'), redis.call('HGET', marker, 'lease')
local lease = math.max(tonumber(maxLease), tonumber(longest or 0))
if known ~= id then
since = now
end
if known ~= id or longest ~= tostring(lease) then
local written = redis.pcall('HSET', marker, 'id', id, 'since', since, 'lease', lease)
if type(written) == 'table' then
trouble = written
return false
end
redis.call('PEXPIRE', marker, math.max(MARKER_LIFE, 10 * lease))
end
grantableAt = since + lease
end
return now >= grantableAt
end
end
local SWEEP = 1000
local CHANNEL = string.match(hash, '^[^{]*') .. 'client:'
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
allow()
redis.call('ZADD', clients, now + WINDOW, name)
keep(clients, WINDOW + RETENTION)
forget(name)
return LIVE
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
return LIVE
end
local count = listeners(name)
local undoubted = string.find(text, '^%S+ 0 ')
if undoubted and count and count > 0 then
return LIVE, nil, nil, text
end
local generation, heard, since, doubt, owner = parse(text)
if count == nil or count > 0 or not isThisServer(heard) then
if doubt ~= 0 then
allow()
note(name, generation, heard, since, 0, owner)
end
return LIVE, nil, nil, text
end
if callerSpoke and name == client then
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
return DOUBTFUL, doubt, deadline - string.match(owner, '%d+$')
end
local function drop(members)
if #members == 0 then
return
end
wrote = true
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
local function give(name, rank, head, behind)
local sequence, fixed = string.match(head, '^[^:]+:(%d+):?(%d*)$')
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
local function walk(visit)
local verdicts = {}
local rank, looked, chunk = 0, 0, 2
while looked < SWEEP do
local members = redis.call('ZRANGE', queue, rank, rank + chunk - 1)
local dead = {}
for i, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
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
askAgainAt = now
end
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
local function prune()
walk(function() return false end)
end
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
holder, run, vacated = '', '', true
end
local function lapse()
if string.find(run, ',', 1, true) then
local _, heard = parse(recordOf(holder))
if holder == client or listeners(holder) ~= 0 or not isThisServer(heard) then
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
ttl = rest(REST)
redis.call('PEXPIRE', hash, ttl)
keep(clients, REST)
end
end
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
local waiting = redis.call('ZCARD', queue)
local free = not held() or leaseEnd <= now
if free and waiting > 0 then
allow()
end
speak()
local ticket = math.max(lastTicket() + 1, micros)
local entries = {}
crowd()
for i = 0, count - 1 do
if not holds(sequence + i) then
entries[#entries + 1] = int(ticket + i)
entries[#entries + 1] = client .. ':' .. sequence + i
end
end
local added = #entries > 0 and redis.call('ZADD', queue, 'NX', unpack(entries)) or 0
if waiting == 0 and added > 0 then
redis.call('PEXPIRE', queue, WINDOW + RETENTION)
end
redis.call('HSET', hash, 'ticket', int(ticket + count - 1))
local seen = tonumber(ARGV[5])
if seen > token then
token = seen
write(math.max(0, leaseEnd - now) + RETENTION)
end
local _, commas = string.gsub(run, ',', '')
if free then
settle()
end
return answer(added == count and 'QUEUED' or 'KNOWN', ticket, waiting + commas)`,
} as const;

export const leave = {
  name: 'leave',
  numberOfKeys: 3,
  sha1: '0f9686b7e967613d3dfd5a95c4fd388b585096d2',
  lua: `local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local stamp = time[1] .. string.sub('00000' .. time[2], -6)
local stampMs = string.sub(stamp, 1, 13)
local kept = redis.call('HGET', hash, 'grant')
local form = kept and string.byte(kept)
local F, V, H, W = 70, 86, 72, 87
local micros = tonumber(stamp)
local now = math.floor(micros / 1000)
local RETENTION = 60000
local client = string.match(ARGV[1], '^[^:]+')
local holder, run, first, since, from, token, done, lease, label = '', '', '0', '0', '0', '0', '-', '0', ''
if form == F or form == V then
token, done = string.match(kept, '^.(%d+) (.*)$')
elseif form == H or form == W then
holder, run, first, done, lease, label = string.match(kept, '^.([^:]+):(%d+) (%d+) (%S+) (%d+) (.*)$')
since, from, token = first, first, first
elseif form then
holder, run, first, since, from, token, done, lease, label =
string.match(kept, '^R([^:]+):(%S+) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (.*)$')
end
token = tonumber(token)
local leaseEnd = math.floor(from / 1000) + lease
local function int(number)
return string.format('%.0f', number)
end
local function held()
return holder ~= ''
end
local function heldFor()
return held() and now - math.floor(since / 1000) or 0
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
local wrote = false
local function allow()
if not wrote then
wrote = true
redis.call('PEXPIRE', hash, RETENTION)
end
end
local vacated, ttl = false, RETENTION
local function write(ms)
if held() then
redis.call('HSET', hash, 'grant', 'R' .. holder .. ':' .. run .. ' ' .. first .. ' ' .. since .. ' ' .. from .. ' '
.. int(token) .. ' ' .. done .. ' ' .. lease .. ' ' .. label)
else
redis.call('HSET', hash, 'grant', 'V' .. int(token) .. ' ' .. done)
end
redis.call('PEXPIRE', hash, ms)
end
local function grant(name, ids, count, duration, ms, text)
local byClock = token < micros
first = byClock and stamp or int(token + 1)
token = first + count - 1
holder, run, since, from, lease, label = name, ids, stamp, stamp, duration, text
leaseEnd = now + lease
vacated = false
if byClock and count == 1 then
redis.call('HSET', hash, 'grant', 'W' .. name .. ':' .. ids .. ' ' .. stamp .. ' ' .. done .. ' ' .. lease .. ' ' .. text)
redis.call('PEXPIRE', hash, ms)
else
write(ms)
end
end
local outbox = {}
local function finish()
if vacated then
allow()
write(ttl)
end
for _, message in ipairs(outbox) do
redis.pcall('PUBLISH', message[1], message[2])
end
end
local askAgainAt
local record
local function readRecord()
if record == nil then
record = redis.call('HGET', hash, 'c:' .. client)
end
return record
end
local function answer(status, a, b, c)
finish()
local wake = -1
local owed = askAgainAt and 1 or 0
if askAgainAt then
wake = math.max(0, askAgainAt - now)
elseif held() then
wake = math.max(0, leaseEnd - now)
end
local text = readRecord()
local generation = text and tonumber(string.match(text, '^%S+ %d+ %d+ (%d+)')) or 0
if holder == client and leaseEnd > now then
return { status, micros, generation, wake, owed, run, tonumber(first), leaseEnd - now, a, b, c }
end
return { status, micros, generation, wake, owed, '', 0, 0, a, b, c }
end
local terms, guard = ARGV[4], ARGV[5]
local FIRST, FIRST_TTL, HEARD, heardForMs, WHERE, WINDOW, GRACE, MAX_RUN, REST =
string.match(terms, '^(%d+) (%d+) (%S+) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+)$')
WINDOW, GRACE = tonumber(WINDOW), tonumber(GRACE)
local OWNER = WHERE .. ' ' .. WINDOW
local STALE = 16
local callerSpoke, callerWasInTouch = false, false
local function keep(key, ttl)
local size = redis.pcall('ZCARD', key)
if type(size) == 'number' and size > 0 then
redis.call('PEXPIRE', key, ttl)
end
end
local function crowd()
if form == F or form == H then
redis.call('HSET', hash, 'grant', (form == F and 'V' or 'W') .. string.sub(kept, 2))
end
end
local function lastTicket()
return tonumber(redis.call('HGET', hash, 'ticket') or redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0)
end
local function parse(text)
if not text then
return nil
end
local heard, doubt, since, generation, owner = string.match(text, '^(%S+) (%d+) (%d+) (%d+) (.*)$')
return tonumber(generation), heard, tonumber(since), tonumber(doubt), owner
end
local function recordOf(name)
if name == client then
return readRecord()
end
return redis.call('HGET', hash, 'c:' .. name)
end
local function note(name, generation, heard, since, doubt, owner)
local text = heard .. ' ' .. int(doubt) .. ' ' .. int(since) .. ' ' .. int(generation) .. ' ' .. owner
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
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
end
end
return now <= graceUntil
end
local function speak()
local since = now - tonumber(heardForMs)
local deadline = redis.call('ZSCORE', clients, client)
callerSpoke = true
callerWasInTouch = deadline and tonumber(deadline) >= now
if deadline and not callerWasInTouch then
inGrace()
end
local generation, heardBefore, sinceBefore, doubt = parse(readRecord())
local known = generation and deadline
if not known then
generation = micros
local stale = redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)
for _, name in ipairs(stale) do
redis.call('HDEL', hash, 'c:' .. name)
redis.call('ZREM', clients, name)
end
note(client, generation, HEARD, since, 0, OWNER)
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
elseif HEARD ~= heardBefore or doubt ~= 0 or math.abs(since - sinceBefore) > GRACE / 2 then
note(client, generation, HEARD, since, 0, OWNER)
end
redis.call('ZADD', clients, now + WINDOW, client)
if not known then
redis.call('PEXPIRE', clients, WINDOW + RETENTION)
end
end
local MARKER_LIFE = 3600000
local mayGrant, grantableAt, trouble
if guard then
mayGrant = function()
if not grantableAt then
local maxLease, marker = string.match(guard, '^(%d+) (.*)$')
local info = redis.pcall('INFO', 'server')
local id = type(info) == 'string' and string.match(info, 'run_id:(%w+)')
local known = redis.pcall('HGET', marker, 'id')
grantableAt = math.huge
if not id or type(known) == 'table' then
trouble = not id and info or known
return false
end
local since, longest = redis.call('HGET', marker, 'since'), redis.call('HGET', marker, 'lease')
local lease = math.max(tonumber(maxLease), tonumber(longest or 0))
if known ~= id then
since = now
end
if known ~= id or longest ~= tostring(lease) then
local written = redis.pcall('HSET', marker, 'id', id, 'since', since, 'lease', lease)
if type(written) == 'table' then
trouble = written
return false
end
redis.call('PEXPIRE', marker, math.max(MARKER_LIFE, 10 * lease))
end
grantableAt = since + lease
end
return now >= grantableAt
end
end
local SWEEP = 1000
local CHANNEL = string.match(hash, '^[^{]*') .. 'client:'
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
allow()
redis.call('ZADD', clients, now + WINDOW, name)
keep(clients, WINDOW + RETENTION)
forget(name)
return LIVE
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
return LIVE
end
local count = listeners(name)
local undoubted = string.find(text, '^%S+ 0 ')
if undoubted and count and count > 0 then
return LIVE, nil, nil, text
end
local generation, heard, since, doubt, owner = parse(text)
if count == nil or count > 0 or not isThisServer(heard) then
if doubt ~= 0 then
allow()
note(name, generation, heard, since, 0, owner)
end
return LIVE, nil, nil, text
end
if callerSpoke and name == client then
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
return DOUBTFUL, doubt, deadline - string.match(owner, '%d+$')
end
local function drop(members)
if #members == 0 then
return
end
wrote = true
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
local function give(name, rank, head, behind)
local sequence, fixed = string.match(head, '^[^:]+:(%d+):?(%d*)$')
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
local function walk(visit)
local verdicts = {}
local rank, looked, chunk = 0, 0, 2
while looked < SWEEP do
local members = redis.call('ZRANGE', queue, rank, rank + chunk - 1)
local dead = {}
for i, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
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
askAgainAt = now
end
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
local function prune()
walk(function() return false end)
end
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
holder, run, vacated = '', '', true
end
local function lapse()
if string.find(run, ',', 1, true) then
local _, heard = parse(recordOf(holder))
if holder == client or listeners(holder) ~= 0 or not isThisServer(heard) then
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
ttl = rest(REST)
redis.call('PEXPIRE', hash, ttl)
keep(clients, REST)
end
end
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
local rank = redis.call('ZRANK', queue, ARGV[2])
wrote = true
redis.call('ZREM', queue, ARGV[2])
if ARGV[3] == 'waiting' then
speak()
end
settle()
if redis.call('ZCARD', queue) == 0 then
keep(clients, REST)
end
return answer('LEFT', whoHolds(), heldFor(), rank or -1)`,
} as const;

export const primary = {
  name: 'primary',
  numberOfKeys: 1,
  sha1: '0edc4e50ec91a7612f49e65228b46fd0b4869835',
  lua: `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[1] == '' then
return { redis.call('HGET', KEYS[1], 'id') and 'STRICT' or 'FREE', now }
end
local guard = ARGV[1]
local MARKER_LIFE = 3600000
local mayGrant, grantableAt, trouble
if guard then
mayGrant = function()
if not grantableAt then
local maxLease, marker = string.match(guard, '^(%d+) (.*)$')
local info = redis.pcall('INFO', 'server')
local id = type(info) == 'string' and string.match(info, 'run_id:(%w+)')
local known = redis.pcall('HGET', marker, 'id')
grantableAt = math.huge
if not id or type(known) == 'table' then
trouble = not id and info or known
return false
end
local since, longest = redis.call('HGET', marker, 'since'), redis.call('HGET', marker, 'lease')
local lease = math.max(tonumber(maxLease), tonumber(longest or 0))
if known ~= id then
since = now
end
if known ~= id or longest ~= tostring(lease) then
local written = redis.pcall('HSET', marker, 'id', id, 'since', since, 'lease', lease)
if type(written) == 'table' then
trouble = written
return false
end
redis.call('PEXPIRE', marker, math.max(MARKER_LIFE, 10 * lease))
end
grantableAt = since + lease
end
return now >= grantableAt
end
end
local may = mayGrant()
if trouble then
return type(trouble) == 'table' and trouble or { 'UNKNOWN', now }
end
redis.call('PEXPIRE', KEYS[1], math.max(MARKER_LIFE, 10 * tonumber(redis.call('HGET', KEYS[1], 'lease'))))
return { may and 'GRANTS' or 'WAITS', now, may and 0 or grantableAt - now }`,
} as const;

export const release = {
  name: 'release',
  numberOfKeys: 3,
  sha1: '858b74137747adbda9f482584d187391eac96e74',
  lua: `local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local stamp = time[1] .. string.sub('00000' .. time[2], -6)
local stampMs = string.sub(stamp, 1, 13)
local kept = redis.call('HGET', hash, 'grant')
local form = kept and string.byte(kept)
local F, V, H, W = 70, 86, 72, 87
local me, own = ARGV[1], ARGV[2]
local mine = me .. ' ' .. own .. ' '
local usual = (form == H or form == W) and string.sub(kept, 2, #mine + 1) == mine and own < stamp
local members = usual and form == W and redis.call('ZRANGE', queue, '0', '1') or {}
local head, behind = members[1], members[2]
if usual and not head then
redis.call('PEXPIRE', hash, ARGV[3])
redis.call('HSET', hash, 'grant', 'F' .. own .. ' ' .. own .. ':' .. me)
return 'RELEASED ' .. stamp .. ' -1'
end
local lease, ttl, atRest = string.match(ARGV[4], '^%- idle (%d+) (%d+) .* (%d+)$')
if usual and lease and not ARGV[5] then
local name, sequence = string.match(head, '^([^:]+):(%d+)$')
if name and string.sub(behind or '', 1, #name) ~= name and string.sub(me, 1, #name) ~= name then
local deadline = redis.call('ZSCORE', clients, name)
local record = redis.call('HGET', hash, 'c:' .. name)
local channel = string.match(hash, '^[^{]*') .. 'client:' .. name
if deadline and deadline >= stampMs and record and string.find(record, '^%x+ 0 ') then
local heard = redis.pcall('PUBSUB', 'NUMSUB', channel)
if (tonumber(heard[2]) or 0) > 0 then
redis.call('ZREMRANGEBYRANK', queue, '0', '0')
redis.call('HSET', hash, 'grant', (behind and 'W' or 'H') .. head .. ' ' .. stamp .. ' ' .. own .. ':' .. me .. ' ' .. lease .. ' ')
redis.call('PEXPIRE', hash, ttl)
if not behind then
redis.call('PEXPIRE', clients, atRest)
end
redis.pcall('PUBLISH', channel, 'G ' .. stamp .. ' ' .. lease .. ' ' .. stamp .. ' ' .. sequence .. ' ' .. hash)
return 'RELEASED ' .. stamp .. ' ' .. lease
end
end
end
end
local micros = tonumber(stamp)
local now = math.floor(micros / 1000)
local RETENTION = 60000
local client = string.match(ARGV[1], '^[^:]+')
local holder, run, first, since, from, token, done, lease, label = '', '', '0', '0', '0', '0', '-', '0', ''
if form == F or form == V then
token, done = string.match(kept, '^.(%d+) (.*)$')
elseif form == H or form == W then
holder, run, first, done, lease, label = string.match(kept, '^.([^:]+):(%d+) (%d+) (%S+) (%d+) (.*)$')
since, from, token = first, first, first
elseif form then
holder, run, first, since, from, token, done, lease, label =
string.match(kept, '^R([^:]+):(%S+) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (.*)$')
end
token = tonumber(token)
local leaseEnd = math.floor(from / 1000) + lease
local function int(number)
return string.format('%.0f', number)
end
local function held()
return holder ~= ''
end
local function heldFor()
return held() and now - math.floor(since / 1000) or 0
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
local wrote = false
local function allow()
if not wrote then
wrote = true
redis.call('PEXPIRE', hash, RETENTION)
end
end
local vacated, ttl = false, RETENTION
local function write(ms)
if held() then
redis.call('HSET', hash, 'grant', 'R' .. holder .. ':' .. run .. ' ' .. first .. ' ' .. since .. ' ' .. from .. ' '
.. int(token) .. ' ' .. done .. ' ' .. lease .. ' ' .. label)
else
redis.call('HSET', hash, 'grant', 'V' .. int(token) .. ' ' .. done)
end
redis.call('PEXPIRE', hash, ms)
end
local function grant(name, ids, count, duration, ms, text)
local byClock = token < micros
first = byClock and stamp or int(token + 1)
token = first + count - 1
holder, run, since, from, lease, label = name, ids, stamp, stamp, duration, text
leaseEnd = now + lease
vacated = false
if byClock and count == 1 then
redis.call('HSET', hash, 'grant', 'W' .. name .. ':' .. ids .. ' ' .. stamp .. ' ' .. done .. ' ' .. lease .. ' ' .. text)
redis.call('PEXPIRE', hash, ms)
else
write(ms)
end
end
local outbox = {}
local function finish()
if vacated then
allow()
write(ttl)
end
for _, message in ipairs(outbox) do
redis.pcall('PUBLISH', message[1], message[2])
end
end
local askAgainAt
local record
local function readRecord()
if record == nil then
record = redis.call('HGET', hash, 'c:' .. client)
end
return record
end
local function answer(status, a, b, c)
finish()
local wake = -1
local owed = askAgainAt and 1 or 0
if askAgainAt then
wake = math.max(0, askAgainAt - now)
elseif held() then
wake = math.max(0, leaseEnd - now)
end
local text = readRecord()
local generation = text and tonumber(string.match(text, '^%S+ %d+ %d+ (%d+)')) or 0
if holder == client and leaseEnd > now then
return { status, micros, generation, wake, owed, run, tonumber(first), leaseEnd - now, a, b, c }
end
return { status, micros, generation, wake, owed, '', 0, 0, a, b, c }
end
if holder ~= client or first ~= own then
return answer(string.match(done, '^%d+') == own and 'RELEASED' or 'LOST')
end
done = own .. ':' .. me
holder, run, vacated = '', '', true
local unserved, mode, terms = string.match(ARGV[4], '^(%S+) (%a+) (.*)$')
local guard = ARGV[5]
if not usual and redis.call('ZCARD', queue) == 0 and unserved == '-' then
ttl = rest(ARGV[3])
return answer('RELEASED')
end
local FIRST, FIRST_TTL, HEARD, heardForMs, WHERE, WINDOW, GRACE, MAX_RUN, REST =
string.match(terms, '^(%d+) (%d+) (%S+) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+)$')
WINDOW, GRACE = tonumber(WINDOW), tonumber(GRACE)
local OWNER = WHERE .. ' ' .. WINDOW
local STALE = 16
local callerSpoke, callerWasInTouch = false, false
local function keep(key, ttl)
local size = redis.pcall('ZCARD', key)
if type(size) == 'number' and size > 0 then
redis.call('PEXPIRE', key, ttl)
end
end
local function crowd()
if form == F or form == H then
redis.call('HSET', hash, 'grant', (form == F and 'V' or 'W') .. string.sub(kept, 2))
end
end
local function lastTicket()
return tonumber(redis.call('HGET', hash, 'ticket') or redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0)
end
local function parse(text)
if not text then
return nil
end
local heard, doubt, since, generation, owner = string.match(text, '^(%S+) (%d+) (%d+) (%d+) (.*)$')
return tonumber(generation), heard, tonumber(since), tonumber(doubt), owner
end
local function recordOf(name)
if name == client then
return readRecord()
end
return redis.call('HGET', hash, 'c:' .. name)
end
local function note(name, generation, heard, since, doubt, owner)
local text = heard .. ' ' .. int(doubt) .. ' ' .. int(since) .. ' ' .. int(generation) .. ' ' .. owner
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
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
end
end
return now <= graceUntil
end
local function speak()
local since = now - tonumber(heardForMs)
local deadline = redis.call('ZSCORE', clients, client)
callerSpoke = true
callerWasInTouch = deadline and tonumber(deadline) >= now
if deadline and not callerWasInTouch then
inGrace()
end
local generation, heardBefore, sinceBefore, doubt = parse(readRecord())
local known = generation and deadline
if not known then
generation = micros
local stale = redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)
for _, name in ipairs(stale) do
redis.call('HDEL', hash, 'c:' .. name)
redis.call('ZREM', clients, name)
end
note(client, generation, HEARD, since, 0, OWNER)
redis.call('PEXPIRE', hash, math.max(0, leaseEnd - now) + WINDOW + RETENTION)
elseif HEARD ~= heardBefore or doubt ~= 0 or math.abs(since - sinceBefore) > GRACE / 2 then
note(client, generation, HEARD, since, 0, OWNER)
end
redis.call('ZADD', clients, now + WINDOW, client)
if not known then
redis.call('PEXPIRE', clients, WINDOW + RETENTION)
end
end
local MARKER_LIFE = 3600000
local mayGrant, grantableAt, trouble
if guard then
mayGrant = function()
if not grantableAt then
local maxLease, marker = string.match(guard, '^(%d+) (.*)$')
local info = redis.pcall('INFO', 'server')
local id = type(info) == 'string' and string.match(info, 'run_id:(%w+)')
local known = redis.pcall('HGET', marker, 'id')
grantableAt = math.huge
if not id or type(known) == 'table' then
trouble = not id and info or known
return false
end
local since, longest = redis.call('HGET', marker, 'since'), redis.call('HGET', marker, 'lease')
local lease = math.max(tonumber(maxLease), tonumber(longest or 0))
if known ~= id then
since = now
end
if known ~= id or longest ~= tostring(lease) then
local written = redis.pcall('HSET', marker, 'id', id, 'since', since, 'lease', lease)
if type(written) == 'table' then
trouble = written
return false
end
redis.call('PEXPIRE', marker, math.max(MARKER_LIFE, 10 * lease))
end
grantableAt = since + lease
end
return now >= grantableAt
end
end
local SWEEP = 1000
local CHANNEL = string.match(hash, '^[^{]*') .. 'client:'
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
allow()
redis.call('ZADD', clients, now + WINDOW, name)
keep(clients, WINDOW + RETENTION)
forget(name)
return LIVE
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
return LIVE
end
local count = listeners(name)
local undoubted = string.find(text, '^%S+ 0 ')
if undoubted and count and count > 0 then
return LIVE, nil, nil, text
end
local generation, heard, since, doubt, owner = parse(text)
if count == nil or count > 0 or not isThisServer(heard) then
if doubt ~= 0 then
allow()
note(name, generation, heard, since, 0, owner)
end
return LIVE, nil, nil, text
end
if callerSpoke and name == client then
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
return DOUBTFUL, doubt, deadline - string.match(owner, '%d+$')
end
local function drop(members)
if #members == 0 then
return
end
wrote = true
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
local function give(name, rank, head, behind)
local sequence, fixed = string.match(head, '^[^:]+:(%d+):?(%d*)$')
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
local function walk(visit)
local verdicts = {}
local rank, looked, chunk = 0, 0, 2
while looked < SWEEP do
local members = redis.call('ZRANGE', queue, rank, rank + chunk - 1)
local dead = {}
for i, member in ipairs(members) do
local name = string.match(member, '^[^:]+')
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
askAgainAt = now
end
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
local function prune()
walk(function() return false end)
end
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
holder, run, vacated = '', '', true
end
local function lapse()
if string.find(run, ',', 1, true) then
local _, heard = parse(recordOf(holder))
if holder == client or listeners(holder) ~= 0 or not isThisServer(heard) then
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
ttl = rest(REST)
redis.call('PEXPIRE', hash, ttl)
keep(clients, REST)
end
end
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
if unserved ~= '-' then
allow()
putBack(function(sequence)
return string.find(unserved, ',' .. sequence .. ',', 1, true) ~= nil
end)
end
if mode == 'waiting' then
allow()
speak()
end
pass()
return answer('RELEASED')`,
} as const;

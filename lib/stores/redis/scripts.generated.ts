// Made from scripts/*.lua by `npm run lua`. Do not edit.

const nowPart1 = `local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local stamp = time[1] .. string.sub('00000' .. time[2], -6)
local stampMs = string.sub(stamp, 1, 13)
local kept = redis.call('HGET', hash, 'grant')
local form = kept and string.byte(kept)
local F, V, H, W, R = 70, 86, 72, 87, 82
local clears = false`;

const statePart2 = `local micros = tonumber(stamp)
local now = math.floor(micros / 1000)
local RETENTION = 60000
local function protocolError(what)
return redis.error_reply('PROTOCOL this version cannot read the ' .. what)
end
local LONGEST = 2 ^ 53 - 1
local function whole(text)
local number = tonumber(text)
return number and number >= 0 and number <= LONGEST and number % 1 == 0 and number or nil
end
local client = string.match(ARGV[1], '^[^:]+')
local holder, run, first, since, from, token, done, lease, label = '', '', '0', '0', '0', '0', '-', '0', ''
if kept and form ~= F and form ~= V and form ~= H and form ~= W and form ~= R then
token = nil
elseif form == F or form == V then
token, done = string.match(kept, '^.(%d+) (.*)$')
elseif form == H or form == W then
holder, run, first, done, lease, label = string.match(kept, '^.([^:]+):(%d+) (%d+) (%S+) (%d+) (.*)$')
since, from, token = first, first, first
elseif form == R then
holder, run, first, since, from, token, done, lease, label =
string.match(kept, '^R([^:]+):(%S+) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (.*)$')
end
local DIGITS = 16
local unreadable = kept and not (token and lease and #token <= DIGITS and #from <= DIGITS and #lease <= DIGITS)
if unreadable then
if not clears then
return protocolError('hash ' .. hash)
end
holder, run, first, since, from, token, done, lease, label = '', '', '0', '0', '0', '0', '-', '0', ''
end
token = tonumber(token)
local leaseEnd = math.floor(from / 1000) + lease
local function int(number)
return string.format('%.0f', number)
end
local function held()
return holder ~= ''
end
local function unserved()
local _, others = string.gsub(run, ',', '')
if others == 0 then
return 0, 0
end
local named, turns = string.match(redis.call('HGET', hash, 'turn') or '', '^(%d+) (%d+)$')
local served = named == first and math.min(tonumber(turns), others) or 0
return others - served, served
end
local function heldFor()
return held() and now - math.floor(since / 1000) or 0
end
local function holds(sequence)
return holder == client and leaseEnd > now
and string.find(',' .. run .. ',', ',' .. sequence .. ',', 1, true) ~= nil
end
local function lifetime(spare)
local needed = held() and leaseEnd > now and leaseEnd - now or 0
if token > micros then
needed = math.max(needed, math.ceil((token - micros) / 1000))
end
return needed + spare
end
local wrote = false
local function allow()
if not wrote then
wrote = true
redis.call('PEXPIRE', hash, lifetime(RETENTION))
end
end
local vacated, spare = false, RETENTION
local function write(ms)
if held() then
redis.call('HSET', hash, 'grant', 'R' .. holder .. ':' .. run .. ' ' .. first .. ' ' .. since .. ' ' .. from .. ' '
.. int(token) .. ' ' .. done .. ' ' .. lease .. ' ' .. label)
else
redis.call('HSET', hash, 'grant', 'V' .. int(token) .. ' ' .. done)
end
redis.call('PEXPIRE', hash, lifetime(ms))
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
write(RETENTION)
end
end
local outbox = {}
local function finish()
if vacated then
allow()
write(spare)
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
end`;

const primaryPart1 = `local MARKER_LIFE = 3600000
local function markerLife(lease)
return math.min(math.max(MARKER_LIFE, 10 * lease), 2 ^ 53)
end
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
local lease = math.max(tonumber(maxLease), tonumber(longest) or 0)
local isNew = known ~= id or not tonumber(since)
if isNew then
since = now
end
if isNew or longest ~= string.format('%.0f', lease) then
local written = redis.pcall('HSET', marker, 'id', id, 'since', since, 'lease', lease)
if type(written) == 'table' then
trouble = written
return false
end
redis.call('PEXPIRE', marker, markerLife(lease))
end
grantableAt = since + lease
end
return now >= grantableAt
end
end`;

const recordsPart1 = `local FIRST, FIRST_TTL, HEARD, heardForMs, WHERE, WINDOW, GRACE, MAX_RUN, REST =
string.match(terms, '^(%d+) (%d+) (%S+) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+)$')
if not REST or #FIRST_TTL > DIGITS or #WINDOW > DIGITS or #REST > DIGITS then
return protocolError('arguments of the command')
end
WINDOW, GRACE = tonumber(WINDOW), tonumber(GRACE)
local OWNER = WHERE .. ' ' .. WINDOW
local STALE = 16
local ORPHANS = 64
local FIELDS = 5
local FRESH = 0.9
local callerSpoke, callerWasInTouch = false, false
local function keep(key, ttl)
local size = redis.pcall('ZCARD', key)
if type(size) == 'number' and size > 0 then
redis.call('PEXPIRE', key, ttl)
end
end
local function keepLine()
local latest = redis.call('ZREVRANGE', clients, '0', '0', 'WITHSCORES')[2] or stampMs
local ttl = math.max(WINDOW, math.min(latest - now, LONGEST)) + RETENTION
keep(queue, ttl)
keep(clients, ttl)
end
local function crowd()
if form == F or form == H then
redis.call('HSET', hash, 'grant', (form == F and 'V' or 'W') .. string.sub(kept, 2))
end
end
local function lastTicket()
return tonumber(redis.call('HGET', hash, 'ticket') or redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2]) or 0
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
graceUntil = whole(redis.call('HGET', hash, 'grace')) or 0
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
redis.call('PEXPIRE', hash, lifetime(WINDOW + RETENTION))
end
end
return now <= graceUntil
end
local function speak(begins, wholly)
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
local size = begins and redis.pcall('HLEN', hash)
if type(size) == 'number' and size > FIELDS + redis.call('ZCARD', clients) then
local found = redis.pcall('HSCAN', hash, time[2], 'MATCH', 'c:*', 'COUNT', ORPHANS)[2] or {}
for i = 1, #found, 2 do
local name = string.sub(found[i], 3)
if name ~= holder and name ~= client and not redis.call('ZSCORE', clients, name) then
redis.call('HDEL', hash, 'c:' .. name)
end
end
end
note(client, generation, HEARD, since, 0, OWNER)
redis.call('PEXPIRE', hash, lifetime(WINDOW + RETENTION))
elseif HEARD ~= heardBefore or doubt ~= 0 or math.abs(since - sinceBefore) > GRACE / 2 then
note(client, generation, HEARD, since, 0, OWNER)
end
local left = known and deadline - now or 0
if wholly or left < FRESH * WINDOW or left > WINDOW or WINDOW > RETENTION then
redis.call('ZADD', clients, now + WINDOW, client)
if not begins then
keepLine()
end
end
end`;

const linePart3 = `local SWEEP = 1000
local FEW = 8
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
local function nameOf(member)
return string.match(member, '^([^:]+):%d+:?%d*$') or ''
end
local function judge(name)
if name == '' then
return DEAD
end
local deadline = redis.call('ZSCORE', clients, name)
if not deadline then
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
local name = nameOf(member)
if name ~= '' and not seen[name] then
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
spare = tonumber(REST)
redis.call('PEXPIRE', hash, lifetime(spare))
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
end`;

export const acquire = {
  name: 'acquire',
  numberOfKeys: 3,
  sha1: '00dfc659bd9619f12c4ec532689cd6064270e182',
  lua: [nowPart1, `local me = ARGV[1]
local expired = stampMs > ARGV[2]
local guard = ARGV[6]
local alone = form == F or not kept and redis.call('ZCARD', queue) == 0
if alone and not expired and not guard and string.sub(ARGV[5], 1, 16) < stamp then
local last, done = '', '-'
if kept then
last, done = string.match(kept, '^F(%d+) (.*)$')
end
local life = tonumber(ARGV[4])
local legible = last and life and life >= 60000 and life <= 9007199254740991 and life % 1 == 0
if legible and last < stamp and string.sub(done, -#me) ~= me then
redis.call('HSET', hash, 'grant', 'H' .. me .. ' ' .. stamp .. ' ' .. done .. ' ' .. ARGV[3])
redis.call('PEXPIRE', hash, ARGV[4])
return 'GRANTED ' .. stamp
end
end`, statePart2, `local sequence = string.match(me, '%d+$')
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
if not terms or #seen > DIGITS or #ownTicket > DIGITS or fixed ~= '-' and not whole(fixed) then
return protocolError('arguments of the command')
end
seen, ownTicket, maxQueue = tonumber(seen), tonumber(ownTicket), tonumber(maxQueue)
local raised = seen > token
token = math.max(token, seen)`, primaryPart1, `local take = free and function()
local duration, text = string.match(ARGV[3], '^(%d+) (.*)$')
if not whole(duration) or not whole(ARGV[4]) then
return protocolError('arguments of the command')
end
grant(client, sequence, 1, duration, ARGV[4], text)
return answer('GRANTED')
end
if free and waiting == 0 and not string.find(run, ',', 1, true) and (not guard or mayGrant()) then
if held() then
redis.call('HDEL', hash, 'c:' .. holder)
end
return take()
end`, recordsPart1, `local member = me .. (fixed == '-' and '' or ':' .. fixed)
local ticket = waiting > 0 and tonumber(redis.call('ZSCORE', queue, member) or nil)
local newcomer = not ticket and ownTicket == 0
local function join()
speak(waiting == 0)
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
local ttl = int(WINDOW + RETENTION)
redis.call('PEXPIRE', queue, ttl)
redis.call('PEXPIRE', clients, ttl)
end
if ticket > last then
redis.call('HSET', hash, 'ticket', text)
end
if raised then
write(RETENTION)
end
end
end
local function queued()
local before = newcomer and not free and waiting or redis.call('ZRANK', queue, member) or 0
return answer('QUEUED', ticket, before + unserved())
end
local inRun = not free and maxQueue >= 0 and unserved() or 0
local crowded = newcomer and maxQueue >= 0 and waiting + inRun >= maxQueue
if mode == 'wait' and not free and not crowded then
join()
return queued()
end`, linePart3, `if mode == 'try' then
if free then
allow()
settle()
if not held() and not askAgainAt and (not guard or mayGrant()) then
return take()
end
end
return answer('BUSY', whoHolds(), heldFor())
end
if crowded then
prune()
waiting = redis.call('ZCARD', queue)
if waiting + inRun >= maxQueue then
return answer('FULL', waiting + inRun)
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
return queued()`].join('\n'),
} as const;

export const forceRelease = {
  name: 'forceRelease',
  numberOfKeys: 3,
  sha1: '868d698de63220f9b8f5186b79477babe5d6d096',
  lua: [nowPart1, `clears = ARGV[2] == '0'`, statePart2, `local terms, guard = ARGV[3], ARGV[4]`, recordsPart1, primaryPart1, linePart3, `local status = 'FREE'
if unreadable then
status = 'FORCED'
allow()
redis.call('HDEL', hash, 'grant')
elseif done == ARGV[2] .. ':forced' then
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
return answer(status)`].join('\n'),
} as const;

export const heartbeat = {
  name: 'heartbeat',
  numberOfKeys: 3,
  sha1: '1bc9fa49dda11c1b51b1ae2f0d7a2e62fb844f75',
  lua: [nowPart1, statePart2, `if now > tonumber(ARGV[2]) then
return answer('EXPIRED')
end
if not whole(ARGV[5]) then
return protocolError('arguments of the command')
end
local terms, guard = ARGV[11], ARGV[13]`, recordsPart1, primaryPart1, linePart3, `wrote = true
redis.call('PEXPIRE', hash, lifetime(WINDOW + RETENTION))
if holder == client and leaseEnd <= now and client .. ':' .. run == ARGV[9] and (not guard or mayGrant()) then
grant(client, run, 1, FIRST, FIRST_TTL, '')
end
if ARGV[7] == 'waiting' then
if ARGV[8] ~= '' and not redis.call('ZSCORE', queue, ARGV[9]) and not holds(ARGV[8]) then
forget(client)
end
speak(false, true)
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
if string.find(run, ',', 1, true) then
redis.call('HSET', hash, 'turn', first .. ' ' .. ARGV[12])
end
write(WINDOW + RETENTION)
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
return answer(status, heardBy or -1)`].join('\n'),
} as const;

export const inspect = {
  name: 'inspect',
  numberOfKeys: 3,
  sha1: '6dcd7e3ab2ad6877642273500fb7f087db97ed1f',
  lua: [nowPart1, statePart2, `local waiters = {}
local records = {}
local function show(member, ticket)
local name = string.match(member, '^[^:]+') or ''
if not records[name] then
records[name] = { redis.call('ZSCORE', clients, name) or '0', redis.call('HGET', hash, 'c:' .. name) or '' }
end
waiters[#waiters + 1] = member
waiters[#waiters + 1] = ticket
waiters[#waiters + 1] = records[name][1]
waiters[#waiters + 1] = records[name][2]
end
local busy = held() and leaseEnd > now
local most, length, served = tonumber(ARGV[2]), redis.call('ZCARD', queue), 0
if busy then
local behind
behind, served = unserved()
length = length + behind
local named, places = string.match(redis.call('HGET', hash, 'places') or '', '^(%d+) (.*)$')
local place = -served
for ticket, member in string.gmatch(named == first and places or '', '(%d+) (%S+)') do
if place > 0 and place <= most then
show(member, ticket)
waiters[#waiters - 1] = now
end
place = place + 1
end
end
local left = most - #waiters / 4
local members = left > 0 and redis.call('ZRANGE', queue, 0, left - 1, 'WITHSCORES') or {}
for i = 1, #members, 2 do
show(members[i], members[i + 1])
end
if busy then
local known = redis.call('HGET', hash, 'c:' .. holder) or ''
return { now, holder, label, first + served, heldFor(), leaseEnd - now, length, waiters, known, tonumber(first) }
end
return { now, '', '', 0, 0, 0, length, waiters, '', 0 }`].join('\n'),
} as const;

export const join = {
  name: 'join',
  numberOfKeys: 3,
  sha1: 'a987025af29364c0c400187570f5a6a9a227c56e',
  lua: [nowPart1, statePart2, `local sequence, count = tonumber(ARGV[2]), tonumber(ARGV[3])
if now > tonumber(ARGV[4]) then
return answer('EXPIRED')
end
local terms, guard = ARGV[6], ARGV[7]`, recordsPart1, primaryPart1, linePart3, `local waiting = redis.call('ZCARD', queue)
local free = not held() or leaseEnd <= now
if free and waiting > 0 then
allow()
end
speak(waiting == 0)
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
local ttl = int(WINDOW + RETENTION)
redis.call('PEXPIRE', queue, ttl)
redis.call('PEXPIRE', clients, ttl)
end
redis.call('HSET', hash, 'ticket', int(ticket + count - 1))
local seen = tonumber(ARGV[5])
if seen > token then
token = seen
write(RETENTION)
end
local before = waiting + unserved()
if free then
settle()
end
return answer(added == count and 'QUEUED' or 'KNOWN', ticket, before)`].join('\n'),
} as const;

export const leave = {
  name: 'leave',
  numberOfKeys: 3,
  sha1: '77cc8c1530ea614eb5c513126b6036e9dcc0a5fe',
  lua: [nowPart1, statePart2, `local terms, guard = ARGV[4], ARGV[5]`, recordsPart1, primaryPart1, linePart3, `local rank = redis.call('ZRANK', queue, ARGV[2])
local before = unserved()
wrote = true
redis.call('ZREM', queue, ARGV[2])
if ARGV[3] == 'waiting' then
speak()
end
settle()
if redis.call('ZCARD', queue) == 0 then
keep(clients, REST)
end
return answer('LEFT', whoHolds(), heldFor(), rank and rank + before or -1)`].join('\n'),
} as const;

export const primary = {
  name: 'primary',
  numberOfKeys: 1,
  sha1: '02b289b0aa6031772d22a6b7dbf8b2fc59a4defa',
  lua: [`local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[1] == '' then
return { redis.call('HGET', KEYS[1], 'id') and 'STRICT' or 'FREE', now }
end
local guard = ARGV[1]`, primaryPart1, `local may = mayGrant()
if trouble then
return type(trouble) == 'table' and trouble or { 'UNKNOWN', now }
end
redis.call('PEXPIRE', KEYS[1], markerLife(tonumber(redis.call('HGET', KEYS[1], 'lease'))))
return { may and 'GRANTS' or 'WAITS', now, may and 0 or grantableAt - now }`].join('\n'),
} as const;

export const release = {
  name: 'release',
  numberOfKeys: 3,
  sha1: '252443b844b504fa781cb358a84efdae31871987',
  lua: [nowPart1, `local me, own = ARGV[1], ARGV[2]
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
end`, statePart2, `if holder ~= client or first ~= own then
return answer(string.match(done, '^%d+') == own and 'RELEASED' or 'LOST')
end
done = own .. ':' .. me
holder, run, vacated = '', '', true
local unserved, mode, terms = string.match(ARGV[4], '^(%S+) (%a+) (.*)$')
local guard = ARGV[5]
if not usual and redis.call('ZCARD', queue) == 0 and unserved == '-' then
spare = tonumber(ARGV[3])
return answer('RELEASED')
end`, recordsPart1, primaryPart1, linePart3, `if unserved ~= '-' then
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
return answer('RELEASED')`].join('\n'),
} as const;

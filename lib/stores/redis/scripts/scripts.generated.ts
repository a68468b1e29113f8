// Made from scripts/*.lua by `npm run lua`. Do not edit.

const lockPart1 = `local hash, queue, clients = KEYS[1], KEYS[2], KEYS[3]
local client = ARGV[1]
local FORMAT, KINDS = '1', '2'`;
const timePart2 = `local time = redis.call('TIME')
local stamp = time[1] .. (#time[2] == 6 and time[2] or string.sub('00000' .. time[2], -6))
local stampMs = string.sub(stamp, 1, 13)`;
const numbersPart1 = `local function int(number)
return string.format('%.0f', number)
end`;
const fullPart4 = `local function readFull()
local format, state, mode, used, limit, firstEnd, lastEnd, kept, lastToken, lastTicket, own, record =
unpack(redis.call('HMGET', hash, 'format', 'state', 'mode', 'used', 'limit', 'first-end', 'last-end', 'kept', 'last-token',
'last-ticket', 'held:' .. client, 'client:' .. client))
if format ~= KINDS or state ~= 'shared+kinds' or mode ~= 'permits' or kept or #(firstEnd or '') ~= 13 or firstEnd <= stampMs
or #(lastToken or '') ~= 16 or lastToken >= stamp or #(lastTicket or '') ~= 16 or lastTicket >= stamp then
return nil
end
used, limit, firstEnd, lastEnd = tonumber(used or nil), tonumber(limit or nil), tonumber(firstEnd), tonumber(lastEnd or nil)
if used and limit and lastEnd and used >= limit then
return used, limit, firstEnd, lastEnd, own, record, tonumber(lastToken)
end
end`;
const freshPart1 = `local FRESH = 0.9
local GRACE = 250
local function isFresh(left)
return left >= FRESH * WINDOW and left <= WINDOW and WINDOW <= RETENTION
end
local function isSameTime(one, other)
return math.abs(one - other) <= GRACE / 2
end`;
const grantPart2 = `local micros = tonumber(stamp)
local now = math.floor(micros / 1000)
local LONGEST = 2 ^ 53 - 1
local function whole(text)
local number = tonumber(text)
return number and number >= 0 and number <= LONGEST and number % 1 == 0 and number or nil
end
local function protocolError(what)
return redis.error_reply('PROTOCOL this version cannot read the ' .. what)
end
local format, state, holder, token, lastToken, requests, since, leased, label, releasedRequest, record =
unpack(redis.call('HMGET', hash, 'format', 'state', 'holder', 'token', 'last-token', 'requests', 'since', 'lease', 'label',
'released-request', 'client:' .. client))
if format and format ~= FORMAT and format ~= KINDS and (tonumber(format) or 0) > 1 then
return redis.error_reply('NEWER ' .. format .. ' ' .. KINDS)
end
local plusQueue = string.match(state or '', '%+%a+$') or ''
state = state and string.sub(state, 1, -1 - #plusQueue)
since, leased, lastToken = whole(since), whole(leased), whole(lastToken)
local kinds = format == KINDS
local used, sharing, limit, firstEnd, lastEnd, kept = 0, nil, nil, nil, nil, nil
if kinds then
used, sharing, limit, firstEnd, lastEnd, kept =
unpack(redis.call('HMGET', hash, 'used', 'mode', 'limit', 'first-end', 'last-end', 'kept'))
used = state == 'shared' and whole(used) or 0
limit, firstEnd, lastEnd = whole(limit), whole(firstEnd), whole(lastEnd)
end
local readable = format == FORMAT or kinds or not format and not state
if state then
readable = readable and lastToken and (state == 'free'
or state == 'held' and holder and requests and whole(token) and since and leased and label
or used > 0 and sharing and firstEnd and lastEnd and since and label)
end
if not readable then
if ARGV[2] ~= 'unreadable' then
return protocolError('hash ' .. hash)
end
state, format, lastToken, kinds, used = false, FORMAT, 0, false, 0
end
local held = state == 'held'
local leaseEnd = since and leased and math.min(since + leased, LONGEST)
lastToken = lastToken or 0
local KEPT = 'kept'
local function keptFor()
if held and holder == KEPT and leaseEnd > now then
return leaseEnd - now
end
end
local function memberOf(sequence, mark)
return client .. ':' .. sequence .. (mark == '' and '' or mark == 'alone' and ':' or ':' .. mark)
end
local function isRun()
return held and string.find(requests, ',', 1, true) ~= nil
end
local function unconfirmed()
local firstLease = math.min(WINDOW, LEASE)
if held and holder ~= KEPT and leased <= firstLease then
local plain = holder .. ':' .. string.match(requests, '^%d*')
local entry = redis.call('HGET', hash, 'entry')
return entry and string.match(entry, '^[^:]+:%d+') == plain and entry or leased == firstLease and plain
end
end
local function unserved()
if not isRun() then
return 0, 0
end
local _, others = string.gsub(requests, ',', '')
local served = math.min(whole(redis.call('HGET', hash, 'served')) or 0, others)
return others - served, served
end
local function contains(list, sequence)
return string.find(',' .. list .. ',', ',' .. sequence .. ',', 1, true) ~= nil
end
local function holds(sequence)
return held and holder == client and leaseEnd > now and contains(requests, sequence)
end`;
const changesPart3 = `local PREFIX = string.match(hash, '^[^{]*')
local CHANNEL, marker = PREFIX .. 'client:', PREFIX .. 'primary'
local function set(...)
return redis.call('HSET', hash, 'format', format or FORMAT, ...)
end
local function lifetime(spare)
local leases = held and leaseEnd or used > 0 and lastEnd or now
local needed = math.max(0, leases - now)
if lastToken > micros then
needed = math.max(needed, math.ceil((lastToken - micros) / 1000))
end
return needed + spare
end
local function keepHash(spare)
redis.call('PEXPIRE', hash, lifetime(spare or RETENTION))
end
local ended = {}
local function grant(name, sequences, count, lease, text)
token = lastToken < micros and stamp or int(lastToken + 1)
lastToken = token + count - 1
holder, requests, since, leaseEnd, label, held = name, sequences, now, math.min(now + lease, LONGEST), text, true
state = 'held'
set('state', 'held' .. plusQueue, 'holder', name, 'token', token, 'last-token', count == 1 and token or lastToken, 'requests', sequences,
'since', stampMs, 'lease', leaseEnd - since, 'label', text, unpack(ended))
keepHash()
end
local function keepFree(spare)
held = false
keepHash(spare)
if state == 'held' then
state = 'free'
set('state', 'free' .. plusQueue, 'last-token', lastToken, unpack(ended))
end
end
local outbox = {}
local askAgainAt
local listed, listedLeft
local function reply(status, ...)
for _, message in ipairs(outbox) do
redis.pcall('PUBLISH', message[1], message[2])
end
local wakeAt = askAgainAt or held and leaseEnd or used > 0 and firstEnd
local wake = wakeAt and math.max(0, wakeAt - now) or -1
local generation = record == nil and -1 or record and tonumber(string.match(record, '^generation=(%d+)')) or 0
local own, first, left = '', 0, 0
if held and holder == client and leaseEnd > now then
own, first, left = requests, tonumber(token), leaseEnd - now
elseif listed then
own, left = listed, listedLeft
end
return { status, micros, wake, own, first, left, askAgainAt and 1 or 0, generation, ... }
end`;
const clientsPart3 = `redis.call('ZCARD', clients)
local function recordOf(name)
if name == client and record ~= nil then
return record
end
return redis.call('HGET', hash, 'client:' .. name)
end
local function valueOf(text, name)
return text and string.match(text, name .. '=(%S*)')
end
local function listeners(name)
local answer = redis.pcall('PUBSUB', 'NUMSUB', CHANNEL .. name)
return type(answer) == 'table' and not answer.err and tonumber(answer[2]) or nil
end
local MEMBER = kinds and '^([^:]+):%d+:?[%w/,]*$' or '^([^:]+):%d+:?%d*$'
local function nameOf(member)
return string.match(member, MEMBER) or ''
end
local STALE = 16
local ORPHANS = 64
local FIELDS = 9
local callerDeadline
local function lineLife()
local latest = tonumber(redis.call('ZREVRANGE', clients, 0, 0, 'WITHSCORES')[2]) or now
return math.max(WINDOW, math.min(latest - now, LONGEST)) + RETENTION
end
local function keepLine()
local ttl = lineLife()
redis.call('PEXPIRE', queue, ttl)
redis.call('PEXPIRE', clients, ttl)
end
local function lastTicket()
return tonumber(redis.call('HGET', hash, 'last-ticket') or redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2]) or 0
end
local function leaveToExpire()
if redis.call('ZCARD', queue) == 0 then
redis.call('PEXPIRE', clients, REST)
end
end
local function writeRecord(name, text)
set('client:' .. name, text)
if name == client then
record = text
end
return text
end
local function change(name, text, value, number)
return writeRecord(name, (string.gsub(text, value .. '=%d+', value .. '=' .. int(number))))
end
local function forget(name)
redis.call('HDEL', hash, 'client:' .. name)
if name == client then
record = false
end
end
local function isInTouch(deadline, text)
return deadline - now >= (tonumber(valueOf(text, 'window')) or WINDOW) / 3
end
local graceUntil
local function inGrace()
if not graceUntil then
graceUntil = whole(redis.call('HGET', hash, 'grace-until')) or 0
local newest, inTouch = 0, callerDeadline and isInTouch(callerDeadline, record)
local latest = redis.call('ZREVRANGE', clients, 0, 1, 'WITHSCORES')
for i = 1, #latest, 2 do
local deadline = latest[i] == client and callerDeadline or tonumber(latest[i + 1])
newest = math.max(newest, deadline)
inTouch = inTouch or isInTouch(deadline, recordOf(latest[i]))
end
if not inTouch and newest > 0 and newest >= graceUntil then
graceUntil = now + WINDOW
set('grace-until', graceUntil)
keepHash(WINDOW + RETENTION)
end
end
return now <= graceUntil
end
local serverId
local function isThisServer(id)
if serverId == nil then
local info = redis.pcall('INFO', 'server')
serverId = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or false
end
return serverId == id
end
local function wasAway()
local latest = redis.call('ZREVRANGE', clients, 0, 0, 'WITHSCORES')
if not latest[1] or tonumber(latest[2]) - now >= WINDOW / 3 then
return false
end
local server = valueOf(recordOf(latest[1]), 'server')
return server and server ~= '-' and not isThisServer(server)
end
local function sweep()
for _, name in ipairs(redis.call('ZRANGEBYSCORE', clients, '-inf', now - RETENTION, 'LIMIT', 0, STALE)) do
redis.call('HDEL', hash, 'client:' .. name)
redis.call('ZREM', clients, name)
end
local size = redis.call('HLEN', hash)
if size > FIELDS + redis.call('ZCARD', clients) then
local from = size > ORPHANS and time[2] or 0
local found = redis.call('HSCAN', hash, from, 'MATCH', 'client:*', 'COUNT', ORPHANS)[2]
for i = 1, #found, 2 do
local name = string.sub(found[i], 8)
local isHolder = held and name == holder or kinds and redis.call('HGET', hash, 'held:' .. name)
if not isHolder and name ~= client and not redis.call('ZSCORE', clients, name) then
redis.call('HDEL', hash, found[i])
end
end
end
end
local function markAlive(wholly)
local deadline = tonumber(redis.call('ZSCORE', clients, client) or nil)
callerDeadline = deadline or 0
if deadline and not isInTouch(deadline, record) or not deadline and wasAway() then
inGrace()
end
local generation = valueOf(record, 'generation')
local known = generation and deadline
if not known then
generation = stamp
sweep()
end
local server, subscribedFor, where = unpack(ARGV, #ARGV - 2)
local subscribed = now - tonumber(subscribedFor)
local same = known and valueOf(record, 'server') == server and valueOf(record, 'suspect') == '0'
and isSameTime(subscribed, tonumber(valueOf(record, 'subscribed')) or 0)
if not same then
writeRecord(client, 'generation=' .. generation .. ' server=' .. server .. ' subscribed=' .. int(subscribed)
.. ' suspect=0 window=' .. int(WINDOW) .. ' reads=' .. KINDS .. ' where=' .. where)
keepHash(WINDOW + RETENTION)
end
local left = known and deadline - now or 0
if wholly or not isFresh(left) then
redis.call('ZADD', clients, now + WINDOW, client)
keepLine()
end
end
local function enqueue(entries, last, before)
local added = redis.call('ZADD', queue, unpack(entries))
if before == 0 then
keepLine()
end
if kinds then
format = KINDS
end
set('state', (state or 'free') .. (kinds and '+kinds' or '+queue'), 'last-ticket', last, 'last-token', lastToken)
keepHash(WINDOW + RETENTION)
return added
end`;
const livenessPart2 = `local LIVE, SUSPECT, DEAD = 1, 2, 3
local function look(name)
local text = recordOf(name)
local deadline = tonumber(redis.call('ZSCORE', clients, name) or nil)
local another = name ~= client
if not deadline and another then
if not text then
return { verdict = DEAD }
end
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
local verdicts = {}
local function judge(name)
verdicts[name] = verdicts[name] or look(name)
return verdicts[name]
end
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
local FEW = 8
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
end`;
const primaryPart1 = `local MARKER_LIFE = 3600000
local function markerLife(lease)
return math.min(math.max(MARKER_LIFE, 10 * lease), 2 ^ 53)
end
local grantableAt, trouble
local function mayGrant()
if not STRICT or grantableAt then
return not STRICT or now >= grantableAt
end
grantableAt = math.huge
local info, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
local id = type(info) == 'string' and string.match(info, 'run_id:(%w+)')
local before = type(replication) == 'string' and string.match(replication, 'master_replid2:(0*[1-9a-f]%x*)') or ''
local known = redis.pcall('HGET', marker, 'id')
if not id or type(known) == 'table' then
trouble = not id and info or known
return false
end
local since, longest = redis.call('HGET', marker, 'since'), redis.call('HGET', marker, 'lease')
local lease = math.max(STRICT, tonumber(longest) or 0)
local isNew = known ~= id or not tonumber(since) or before ~= '' and before ~= redis.call('HGET', marker, 'before')
if isNew then
since = now
end
if isNew or longest ~= string.format('%.0f', lease) then
local written = redis.pcall('HSET', marker, 'id', id, 'before', before, 'since', since, 'lease', lease)
if type(written) == 'table' then
trouble = written
return false
end
redis.call('PEXPIRE', marker, markerLife(lease))
end
grantableAt = since + lease
return now >= grantableAt
end`;
const linePart3 = `local SWEEP = 1000
local FIRST_STEP, STEP = 4, 100
local MAX_RUN = 64
local function give(name, rank, head, behind, text)
local sequences, alone, fixed = string.match(head, '^[^:]+:(%d+)(:?)(%d*)$')
local lease = math.min(WINDOW, LEASE, tonumber(fixed) or LONGEST)
local count, tickets = 1, nil
if alone == '' and behind and string.match(behind, '^([^:]+):%d+$') == name then
local members = redis.call('ZRANGE', queue, rank, rank + MAX_RUN - 1, 'WITHSCORES')
tickets = members[2]
for i = 3, #members, 2 do
local owner, sequence = string.match(members[i], '^([^:]+):(%d+)$')
if owner ~= name then
break
end
count = count + 1
sequences = sequences .. ',' .. sequence
tickets = tickets .. ',' .. members[i + 1]
end
end
redis.call('ZREMRANGEBYRANK', queue, rank, rank + count - 1)
grant(name, sequences, count, lease, valueOf(text, 'where') or '')
if tickets then
set('tickets', tickets, 'served', 0)
elseif alone ~= '' then
set('entry', head)
end
if not behind or tickets then
leaveToExpire()
end
if name ~= client then
local channel = CHANNEL .. name
outbox[#outbox + 1] = { channel, 'granted ' .. stamp .. ' ' .. lease .. ' ' .. token .. ' ' .. sequences .. ' ' .. hash }
end
end
local function mayPass(member, subscribed, suspectSince, markedAt)
return subscribed and tonumber(redis.call('ZSCORE', queue, member)) < suspectSince
and (subscribed < markedAt or now - subscribed >= GRACE)
end
local function offer(take, isFull)
if not mayGrant() then
askAgainAt = grantableAt < math.huge and grantableAt or now + WINDOW
return
end
local rank, looked, step = 0, 0, FIRST_STEP
local suspectSince, markedAt
while looked <= SWEEP do
local members = redis.call('ZRANGE', queue, rank, rank + step - 1)
local taken, dead, isOver = {}, {}, false
for _, member in ipairs(members) do
if isFull and isFull() then
isOver = true
break
end
local name = nameOf(member)
local one = judge(name)
if one.verdict == DEAD then
dead[#dead + 1] = member
elseif one.verdict == SUSPECT then
rank = rank + 1
suspectSince = math.min(suspectSince or one.suspectSince, one.suspectSince)
markedAt = math.min(markedAt or one.markedAt, one.markedAt)
askAgainAt = math.ceil(suspectSince / 1000) + GRACE
else
drop(dead)
dead = {}
isOver = true
if not suspectSince or mayPass(member, one.subscribed, suspectSince, markedAt) then
askAgainAt = nil
isOver = not take(member, name, rank, one.record)
end
if isOver then
break
end
taken[#taken + 1] = member
end
end
drop(dead)
if #taken > 0 then
redis.call('ZREM', queue, unpack(taken))
leaveToExpire()
end
looked = looked + #members
if isOver or #members < step then
return
end
step = STEP
end
askAgainAt = now
end
local function giveAlone(member, name, rank, record)
give(name, rank, member, redis.call('ZRANGE', queue, rank + 1, rank + 1)[1], record)
end
local function putBack(entries)
enqueue(entries, lastTicket(), redis.call('ZCARD', queue))
redis.call('ZADD', clients, 'NX', now + WINDOW, holder)
keepLine()
end
local function requeue(list)
local nextTicket = string.gmatch(isRun() and redis.call('HGET', hash, 'tickets') or '', '%d+')
local entries = {}
for sequence in string.gmatch(requests, '%d+') do
local ticket = nextTicket()
if ticket and contains(list, sequence) then
entries[#entries + 1] = ticket
entries[#entries + 1] = holder .. ':' .. sequence
end
end
if #entries > 0 then
putBack(entries)
end
end
local function takeAway(keepsPlaces)
if keepsPlaces then
requeue(string.match(requests, ',(.*)') or '')
end
local text = recordOf(holder)
if text then
change(holder, text, 'generation', micros)
end
held = false
end
local function lapse()
local entry = unconfirmed()
if not entry and not isRun() then
return takeAway(false)
end
local server = valueOf(recordOf(holder), 'server') or '-'
local isNewServer = not isThisServer(server)
takeAway(isRun() and (holder == client or listeners(holder) ~= 0 or isNewServer))
if entry and (holder == client or isNewServer and server ~= '-' or inGrace()) then
local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')[2]
putBack({ first and first - 1 or math.max(lastTicket(), 1), entry })
end
end
local function tellOfKept(head)
outbox[#outbox + 1] = { CHANNEL .. nameOf(head), 'kept ' .. stamp .. ' ' .. hash }
end
local function keepUntil(moment)
holder, requests, leaseEnd = KEPT, '0', moment
set('holder', holder, 'requests', requests, 'lease', leaseEnd - since, unpack(ended))
keepHash()
local head = redis.call('ZRANGE', queue, 0, 0)[1]
if head then
tellOfKept(head)
end
end
local settleKinds, recordKinds, recordGains, kindOf, admits, admit, listShares, endShare, renewShares
if kinds then`;
const sharesPart2 = `local ENTRY = '(%d+):(%d*):(%d+):(k?%d*)'
local function parseShares(text)
local ends, from = string.match(text or '', '^end=(%d+) requests=()')
local to, after = string.find(text or '', ' label=', 1, true)
if not ends or not to then
return 0, '', ''
end
return tonumber(ends), string.sub(text, from, to - 1), string.sub(text, after + 1)
end
local function sharesOf(name)
return parseShares(redis.call('HGET', hash, 'held:' .. name))
end
local function writeShares(name, ends, entries, about)
if entries == '' then
redis.call('HDEL', hash, 'held:' .. name)
else
redis.call('HSET', hash, 'held:' .. name, 'end=' .. int(ends) .. ' requests=' .. entries .. ' label=' .. about)
end
end
local function findShare(entries, sequence, number)
local at = 1
while true do
local from = string.find(entries, ',' .. sequence .. ':', at, true)
if not from then
return nil
end
local _, to, weight, most, found, own = string.find(entries, '^,%d+:' .. ENTRY, from)
if number == found or not number and string.sub(own, 1, 1) ~= 'k' then
return from, to, weight, most, found, own
end
at = from + 1
end
end
local function lastKept()
return tonumber(string.match(kept or '', '^%d+')) or 0
end
local function noteEnd(moment)
firstEnd = math.min(firstEnd or moment, moment)
lastEnd = math.max(lastEnd or moment, moment)
end
function listShares(one)
if one and string.find(',' .. (listed or ''), ',' .. one .. ':', 1, true) then
return true
end
local ends, entries = sharesOf(client)
local list = { one and listed }
local before = #list
if one then
local from, to = findShare(entries, one)
entries = from and string.sub(entries, from, to) or ''
end
for sequence, _, _, number, own in string.gmatch(entries, ',(%d+):' .. ENTRY) do
if string.sub(own, 1, 1) ~= 'k' then
list[#list + 1] = sequence .. ':' .. number .. (own == '' and '' or ':' .. int(own - now))
end
end
if #list == before then
return false
end
listed, listedLeft = table.concat(list, ','), math.max(0, ends - now)
return true
end
function endShare(name, sequence, keep, number)
local ends, entries, about = sharesOf(name)
local from, to, weight, most, found = findShare(entries, sequence, number)
if not from then
return false
end
local left = ''
local keptUntil = keep > 0 and math.min(math.floor(found / 1000), now) + keep or 0
if keptUntil > now then
left = ',' .. sequence .. ':' .. weight .. ':' .. most .. ':' .. found .. ':k' .. int(math.min(keptUntil, LONGEST))
noteEnd(math.min(keptUntil, LONGEST))
kept = int(math.min(math.max(keptUntil, lastKept()), LONGEST)) .. ' '
else
used = used - weight
end
writeShares(name, ends, string.sub(entries, 1, from - 1) .. left .. string.sub(entries, to + 1), about)
return true
end
function renewShares(about)
local ends, entries = sharesOf(client)
if entries == '' then
return false
end
if ends > now then
ends = math.max(ends, math.min(now + LEASE, LONGEST))
noteEnd(ends)
end
writeShares(client, ends, entries, about)
return true
end
local function putSharesBack(lapsed)
table.sort(lapsed, function(one, other)
return one.number < other.number or one.number == other.number and one.order < other.order
end)
local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')[2] or math.max(lastTicket(), #lapsed) + 1
local entries = {}
for i, one in ipairs(lapsed) do
entries[#entries + 1] = first - #lapsed + i - 1
entries[#entries + 1] = one.member
end
enqueue(entries, lastTicket(), redis.call('ZCARD', queue))
for _, one in ipairs(lapsed) do
redis.call('ZADD', clients, 'NX', now + WINDOW, one.name)
end
keepLine()
end
local function missedIt(name, text)
local server = valueOf(text, 'server') or '-'
return name == client or server ~= '-' and not isThisServer(server) or inGrace()
end
local function lapseShares()
if used == 0 or firstEnd > now then
return
end
local fields, texts, cursor = {}, {}, '0'
repeat
local page = redis.call('HSCAN', hash, cursor, 'MATCH', 'held:*', 'COUNT', 1000)
cursor = page[1]
for i = 1, #page[2], 2 do
if not texts[page[2][i]] then
fields[#fields + 1] = page[2][i]
end
texts[page[2][i]] = page[2][i + 1]
end
until cursor == '0'
used, firstEnd, lastEnd = 0, nil, nil
local lapsed = {}
for _, field in ipairs(fields) do
local name = string.sub(field, 6)
local ends, entries, about = parseShares(texts[field])
local left, lost, over, unaware = {}, false, false, {}
for sequence, weight, most, number, own in string.gmatch(entries, ',(%d+):' .. ENTRY) do
local moment = own == '' and ends or tonumber(string.match(own, '%d+'))
if moment > now then
left[#left + 1] = ',' .. sequence .. ':' .. weight .. ':' .. most .. ':' .. number .. ':' .. own
used = used + weight
noteEnd(moment)
else
over = true
lost = lost or string.sub(own, 1, 1) ~= 'k'
local began = math.floor(number / 1000)
if own == '' and (ends < began + LEASE or ends <= began + math.min(WINDOW, LEASE)) then
local mark = most == '' and 'r' or 'p' .. weight .. '/' .. most
unaware[#unaware + 1] =
{ name = name, member = name .. ':' .. sequence .. ':' .. mark, number = tonumber(number), order = #unaware }
end
end
end
if over then
writeShares(name, ends, table.concat(left), about)
end
local text = lost and recordOf(name)
if text then
for _, one in ipairs(missedIt(name, text) and unaware or {}) do
lapsed[#lapsed + 1] = one
end
change(name, text, 'generation', micros)
end
end
if #lapsed > 0 then
putSharesBack(lapsed)
end
end`;
const kindsPart2 = `local MOST_ADMITTED = 256
function kindOf(mark)
local fixed = whole(string.match(mark, ',(%d+)$'))
if string.match(mark, '^r[,%d]*$') then
return { mode = 'read', weight = 1, fixed = fixed }
end
local weight, most = string.match(mark, '^p(%d+)/(%d+)')
return weight and { mode = 'permits', weight = tonumber(weight), limit = tonumber(most), fixed = fixed } or nil
end
function admits(kind)
if held or used == 0 then
return not held
end
return kind ~= nil and kind.mode == sharing
and (sharing == 'read' or used + kind.weight <= math.min(kind.limit, limit or kind.limit))
end
local gains, gainers = {}, {}
function admit(name, sequence, kind, about)
if used == 0 then
firstEnd, lastEnd = nil, nil
end
if #gainers == 0 then
lastToken = lastToken < micros and micros or lastToken + 1
end
used, sharing, limit = used + kind.weight, kind.mode, kind.limit or limit
since, label = now, about
local gain = gains[name]
if not gain then
gain = { about = about, entries = {}, list = {} }
gains[name], gainers[#gainers + 1] = gain, name
end
local own = kind.fixed and int(math.min(now + kind.fixed, LONGEST)) or ''
gain.isRenewed = gain.isRenewed or own == ''
gain.entries[#gain.entries + 1] = ',' .. sequence .. ':' .. int(kind.weight) .. ':' .. (kind.limit and int(kind.limit) or '')
.. ':' .. int(lastToken) .. ':' .. own
gain.list[#gain.list + 1] = sequence .. ':' .. int(lastToken) .. (kind.fixed and ':' .. int(kind.fixed) or '')
if kind.fixed then
noteEnd(tonumber(own))
end
end
function recordGains(lease)
for _, name in ipairs(gainers) do
local gain = gains[name]
local ends, entries, about = sharesOf(name)
if gain.isRenewed then
ends = math.max(ends, math.min(now + lease, LONGEST))
noteEnd(ends)
end
writeShares(name, ends, entries .. table.concat(gain.entries), about == '' and gain.about or about)
local list, left = table.concat(gain.list, ','), math.max(0, ends - now)
if name == client then
listed, listedLeft = listed and listed .. ',' .. list or list, left
else
outbox[#outbox + 1] = { CHANNEL .. name, 'shared ' .. stamp .. ' ' .. int(left) .. ' ' .. list .. ' ' .. hash }
end
end
gains, gainers = {}, {}
end
local function isFull()
return used > 0 and sharing == 'permits' and limit ~= nil and used >= limit
end
local function offerKinds()
local admitted = 0
offer(function(member, name, rank, record)
local sequence, mark = string.match(member, '^[^:]+:(%d+):?(.*)$')
local kind = kindOf(mark)
if not admits(kind) then
return false
end
if not kind then
return giveAlone(member, name, rank, record)
end
if admitted == MOST_ADMITTED then
askAgainAt = now
return false
end
admit(name, sequence, kind, valueOf(record, 'where') or '')
admitted = admitted + 1
return true
end, isFull)
end
function recordKinds()
local isEmpty = redis.call('ZCARD', queue) == 0
plusQueue = isEmpty and '' or '+kinds'
if used > 0 then
format, state = KINDS, 'shared'
set('state', 'shared' .. plusQueue, 'mode', sharing, 'used', int(used), 'first-end', int(firstEnd), 'last-end', int(lastEnd),
'since', int(since), 'label', label, 'last-token', int(lastToken), unpack(ended))
if limit then
set('limit', int(limit))
end
if kept then
set('kept', kept)
end
return keepHash(isEmpty and RETENTION or WINDOW + RETENTION)
end
if isEmpty then
kinds, format, limit, kept = false, FORMAT, nil, nil
redis.call('HDEL', hash, 'mode', 'used', 'limit', 'first-end', 'last-end', 'kept')
end
keepHash(isEmpty and REST or lineLife())
if state or not isEmpty then
state = 'free'
set('state', 'free' .. plusQueue, 'last-token', int(lastToken), unpack(ended))
end
end
local function tellNewHead()
local head = used > 0 and lastKept() > now and redis.call('ZRANGE', queue, 0, 0)[1]
if head and string.match(kept, ' (.*)$') ~= head then
kept = string.match(kept, '^%d+ ') .. head
tellOfKept(head)
end
end
function settleKinds()
lapseShares()
if not held then
format = KINDS
plusQueue = '+kinds'
if redis.call('ZCARD', queue) > 0 and not isFull() then
offerKinds()
recordGains(math.min(WINDOW, LEASE))
end
end
if not held then
tellNewHead()
recordKinds()
end
end`;
const linePart5 = `end
local function settle()
if held and leaseEnd <= now then
lapse()
end
if kinds then
return settleKinds()
end
if not held and redis.call('ZCARD', queue) > 0 then
plusQueue = '+queue'
offer(giveAlone)
end
if not held and redis.call('ZCARD', queue) == 0 then
plusQueue = ''
keepFree(REST)
elseif not held then
keepFree(lineLife())
end
end`;
const blockerPart1 = `local function whoHolds()
local isBusy = held or used > 0
return isBusy and label or '', isBusy and now - since or 0, keptFor()
end`;
const placePart2 = `local member = memberOf(sequence, mark)
local ticket = tonumber(redis.call('ZSCORE', queue, member) or nil)
local function enter()
markAlive()
local known = ownTicket > 0 and ownTicket or LONGEST
local isPlaced = ticket and ticket <= known
if isPlaced and (not kinds or format == KINDS) then
return false
end
local last = lastTicket()
ticket = isPlaced and ticket or known < LONGEST and known or math.max(last + 1, micros)
enqueue({ ticket, member }, math.max(last, ticket), waiting)
return true
end
local function queued()
return reply('QUEUED', ticket, (redis.call('ZRANK', queue, member) or 0) + unserved())
end`;

export const acquireShared = ['acquireShared', 3, lockPart1, timePart2, numbersPart1, fullPart4, freshPart1, `local function joinLine()
local most = tonumber(string.match(ARGV[6], '^p%d+/(%d+)'))
if not most or ARGV[7] ~= '-1' or ARGV[8] ~= '0' or ARGV[9] ~= 'wait' or #ARGV[2] < 13 or stampMs > ARGV[2] then
return nil
end
local used, limit, firstEnd, lastEnd, own, record, lastToken = readFull()
if not used or limit ~= most or (tonumber(ARGV[5]) or lastToken + 1) > lastToken
or string.find(own or '', ',' .. ARGV[3] .. ':', 1, true) then
return nil
end
local generation, server, since = string.match(record or '', '^generation=(%d+) server=(%S+) subscribed=(%d+) suspect=0 ')
local now, deadline = tonumber(stampMs), tonumber(redis.call('ZSCORE', clients, client) or nil)
if not generation or not deadline or server ~= ARGV[10] or not isSameTime(now - ARGV[11], since) or not isFresh(deadline - now) then
return nil
end
local ahead = redis.call('ZCARD', queue)
if ahead == 0 or redis.call('ZADD', queue, 'NX', stamp, client .. ':' .. ARGV[3] .. ':' .. ARGV[6]) == 0 then
return nil
end
redis.call('HSET', hash, 'last-ticket', stamp)
redis.call('PEXPIRE', hash, int(lastEnd - now + WINDOW + RETENTION))
return { 'QUEUED', tonumber(stamp), firstEnd - now, '', 0, 0, 0, tonumber(generation), tonumber(stamp), ahead }
end
local joined = joinLine()
if joined then
return joined
end`, grantPart2, changesPart3, `if now > tonumber(ARGV[2]) then
return reply('EXPIRED')
end
local sequence, mark, maxQueue, ownTicket = ARGV[3], ARGV[6], tonumber(ARGV[7]), whole(ARGV[8])
local waiting = redis.call('ZCARD', queue)
local function isOlder(name)
return string.sub(name, 1, 2) ~= '2-'
end
if not kinds then
local older = held and leaseEnd > now and holder ~= KEPT and isOlder(holder)
for _, name in ipairs(waiting > 0 and redis.call('ZRANGEBYSCORE', clients, stampMs, '+inf') or {}) do
older = older or isOlder(name)
end
if older then
return redis.error_reply('OLDER ' .. KINDS)
end
kinds = true
end`, clientsPart3, livenessPart2, primaryPart1, linePart3, sharesPart2, kindsPart2, linePart5, blockerPart1, `local kind = kindOf(mark)
if not (kind and maxQueue and ownTicket and whole(ARGV[5])) then
return protocolError('arguments of the command')
end
lastToken = math.max(lastToken, whole(ARGV[5]))
if waiting > 0 or held and leaseEnd <= now or used > 0 and firstEnd <= now then
keepHash()
settle()
kinds, waiting = true, redis.call('ZCARD', queue)
end
if listShares(sequence) then
return reply('GRANTED')
end
local limitBefore = limit
limit = waiting == 0 and kind.limit or limit
if waiting == 0 and admits(kind) and mayGrant() then
admit(client, sequence, kind, ARGV[4])
recordGains(LEASE)
recordKinds()
return reply('GRANTED')
end
limit = limitBefore
if ARGV[9] == 'try' then
return reply('BUSY', whoHolds())
end`, placePart2, `if not ticket and ownTicket == 0 and maxQueue >= 0 then
local inRun = unserved()
local isFull
waiting, isFull = makeRoom(waiting, inRun, maxQueue)
if isFull then
return reply('FULL', waiting + inRun)
end
end
local decided = waiting > 0 and not ticket and ownTicket == 0 and (kind.limit or limit) == limit
if enter() and kind.limit then
limit = kind.limit
set('limit', int(limit))
end
if not decided then
settle()
if listShares(sequence) then
return reply('GRANTED')
end
end
return queued()`] as const;

export const acquire = ['acquire', 3, lockPart1, timePart2, `local CENTURY = 3155760000000
local sequence, text, seen = ARGV[3], ARGV[4], ARGV[5]
local mark, maxQueue, ownTicket, mode = '', -1, 0, 'wait'
if #ARGV > 8 then
mark, maxQueue, ownTicket, mode = unpack(ARGV, 6, 9)
end
local me = client .. ':' .. sequence
local state, lastToken, releasedRequest = unpack(redis.call('HMGET', hash, 'state', 'last-token', 'released-request'))
local lease, life = LEASE_TEXT, LEASE_LIFE
if mark ~= '' and mark ~= 'alone' then
local ms = tonumber(mark)
lease, life = mark, ms and ms >= 0 and ms <= CENTURY and ms % 1 == 0 and tostring(ms + RETENTION)
end
if not STRICT and life and releasedRequest ~= me
and (state == 'free' and lastToken and #lastToken == 16 and lastToken < stamp
or not (state or lastToken) and redis.call('ZCARD', queue) == 0)
and #ARGV[2] >= 13 and stampMs <= ARGV[2]
and #seen <= 16 and seen < stamp then
redis.call('HSET', hash, 'state', 'held', 'holder', client, 'token', stamp, 'last-token', stamp,
'requests', sequence, 'since', stampMs, 'lease', lease, 'label', text, unpack(state and {} or { 'format', FORMAT }))
redis.call('PEXPIRE', hash, life)
return 'GRANTED ' .. stamp .. ' ' .. lease .. ' ' .. sequence
end`, grantPart2, numbersPart1, changesPart3, `if now > tonumber(ARGV[2]) then
return reply('EXPIRED')
end
if holds(sequence) then
return reply('GRANTED')
end
if releasedRequest == me then
return reply('DONE')
end
lease = (mark == '' or mark == 'alone') and LEASE or whole(mark)
seen, maxQueue, ownTicket = whole(seen), tonumber(maxQueue), whole(ownTicket)
if not (lease and seen and ownTicket and maxQueue) then
return protocolError('arguments of the command')
end
lastToken = math.max(lastToken, seen)`, primaryPart1, `local function take()
grant(client, sequence, 1, lease, text)
return reply('GRANTED')
end
local waiting = redis.call('ZCARD', queue)
local free = not kinds and (not held or leaseEnd <= now)
if free and waiting == 0 and not isRun() and not unconfirmed() and mayGrant() then
if held then
redis.call('HDEL', hash, 'client:' .. holder)
end
plusQueue = ''
return take()
end
if mode == 'try' and not free and not kinds then
return reply('BUSY', label, now - since, keptFor())
end`, freshPart1, clientsPart3, placePart2, `free = free or kinds
if not free and maxQueue < 0 then
enter()
return queued()
end`, livenessPart2, linePart3, sharesPart2, kindsPart2, linePart5, blockerPart1, `if free then
keepHash(lineLife())
end
if mode == 'try' then
settle()
if not held and used == 0 and not askAgainAt and mayGrant() then
return take()
end
return reply('BUSY', whoHolds())
end
if not ticket and ownTicket == 0 and maxQueue >= 0 then
local inRun = free and not kinds and 0 or unserved()
local isFull
waiting, isFull = makeRoom(waiting, inRun, maxQueue)
if isFull then
return reply('FULL', waiting + inRun)
end
end
enter()
if free then
settle()
if holds(sequence) then
return reply('GRANTED')
end
end
return queued()`] as const;

export const forceRelease = ['forceRelease', 3, lockPart1, timePart2, grantPart2, numbersPart1, changesPart3, freshPart1, clientsPart3, livenessPart2, primaryPart1, linePart3, sharesPart2, kindsPart2, linePart5, `local status = 'FREE'
if not readable then
status = 'FORCED'
keepHash()
redis.call('HDEL', hash, 'format', 'state', 'last-token')
elseif releasedRequest == 'forced:' .. ARGV[2] then
status = 'FORCED'
elseif ARGV[2] == 'shared' then
keepHash()
for i = 3, kinds and #ARGV or 0 do
local name, sequence, number = string.match(ARGV[i], '^([^:]+):(%d+):(%d+)$')
if name and endShare(name, sequence, 0, number) then
status = 'FORCED'
outbox[#outbox + 1] = { CHANNEL .. name, 'revoked-share ' .. stamp .. ' ' .. sequence .. ':' .. number .. ' ' .. hash }
end
end
elseif held and leaseEnd > now and token == ARGV[2] then
status = 'FORCED'
outbox[1] = { CHANNEL .. holder, 'revoked ' .. stamp .. ' ' .. token .. ' ' .. hash }
keepHash()
ended = { 'released-request', 'forced:' .. token }
takeAway(true)
end
settle()
return reply(status)`] as const;

export const heartbeat = ['heartbeat', 3, lockPart1, timePart2, grantPart2, numbersPart1, changesPart3, `if now > tonumber(ARGV[2]) then
return reply('EXPIRED')
end
local lease = ARGV[4] == '' and LEASE or whole(ARGV[4])
if not lease then
return protocolError('arguments of the command')
end`, freshPart1, clientsPart3, primaryPart1, `keepHash(WINDOW + RETENTION)
local shares = kinds and redis.call('HGET', hash, 'held:' .. client) or ''
local function isMissing(sequence, mark)
return sequence ~= '' and not redis.call('ZSCORE', queue, memberOf(sequence, mark)) and not holds(sequence)
and not string.find(shares, ',' .. sequence .. ':', 1, true)
end
if ARGV[7] == 'waiting' then
if isMissing(ARGV[8], ARGV[9]) or isMissing(ARGV[11], ARGV[12]) then
forget(client)
end
markAlive(true)
end
local status = 'GONE'
if held and holder == client and token == ARGV[3] and leaseEnd > now then
status = 'RENEWED'
leaseEnd = math.max(leaseEnd, math.min((ARGV[4] == '' and now or since) + lease, LONGEST))
set('lease', leaseEnd - since, 'label', ARGV[5], 'served', ARGV[6])
keepHash(WINDOW + RETENTION)
else`, livenessPart2, linePart3, sharesPart2, kindsPart2, linePart5, `if kinds and ARGV[3] == 'shared' and renewShares(ARGV[5]) then
status = 'RENEWED'
end
settle()
if listShares then
listShares()
end
end
if ARGV[10] ~= '' then
outbox[#outbox + 1] = { CHANNEL .. client, ARGV[10] }
end
return reply(status, listeners(client) or -1)`] as const;

export const inspect = ['inspect', 3, lockPart1, timePart2, grantPart2, numbersPart1, changesPart3, `local waiters, known = {}, {}
local function show(member, ticket, deadline)
local name = string.match(member, '^[^:]+') or ''
known[name] = known[name]
or { redis.call('ZSCORE', clients, name) or '0', redis.call('HGET', hash, 'client:' .. name) or '' }
for _, value in ipairs({ member, ticket, deadline or known[name][1], known[name][2] }) do
waiters[#waiters + 1] = value
end
end
local most, length, served = tonumber(ARGV[2]), redis.call('ZCARD', queue), 0
held = held and leaseEnd > now
if isRun() then
local behind
behind, served = unserved()
length = length + behind
local nextTicket = string.gmatch(redis.call('HGET', hash, 'tickets') or '', '%d+')
local place = -served
for sequence in string.gmatch(requests, '%d+') do
local ticket = nextTicket()
if ticket and place > 0 and place <= most then
show(holder .. ':' .. sequence, ticket, now)
end
place = place + 1
end
end
local left = most - #waiters / 4
local members = left > 0 and redis.call('ZRANGE', queue, 0, left - 1, 'WITHSCORES') or {}
for i = 1, #members, 2 do
show(members[i], members[i + 1])
end
if held then
return reply('SHOWN', holder, label, token + served, now - since, leaseEnd - now, tonumber(token), length, waiters)
end
local shares, cursor = { limit and int(limit) or '' }, used > 0 and '0'
while cursor do
local page = redis.call('HSCAN', hash, cursor, 'MATCH', 'held:*', 'COUNT', 1000)
for i = 1, #page[2], 2 do
shares[#shares + 1] = string.sub(page[2][i], 6)
shares[#shares + 1] = page[2][i + 1]
end
cursor = page[1] ~= '0' and page[1]
end
return reply('SHOWN', '', '', 0, 0, 0, 0, length, waiters, #shares > 1 and shares or nil)`] as const;

export const join = ['join', 3, lockPart1, timePart2, grantPart2, numbersPart1, changesPart3, `if now > tonumber(ARGV[2]) then
return reply('EXPIRED')
end
local sequence, count, seen = whole(ARGV[3]), whole(ARGV[4]), whole(ARGV[5])
if not (sequence and count and seen) then
return protocolError('arguments of the command')
end`, freshPart1, clientsPart3, livenessPart2, primaryPart1, linePart3, sharesPart2, kindsPart2, linePart5, `local waiting = redis.call('ZCARD', queue)
local before = waiting + unserved()
local free = not held or leaseEnd <= now
if kinds or free and waiting > 0 then
keepHash()
end
markAlive()
local ticket = math.max(lastTicket() + 1, micros)
local entries = { 'NX' }
for i = 0, count - 1 do
if not holds(sequence + i) then
entries[#entries + 1] = ticket + i
entries[#entries + 1] = client .. ':' .. int(sequence + i)
end
end
lastToken = math.max(lastToken, seen)
local added = #entries > 1 and enqueue(entries, ticket + count - 1, waiting) or 0
if free or kinds then
settle()
end
return reply(added == count and 'QUEUED' or 'KNOWN', ticket, before)`] as const;

export const leave = ['leave', 3, lockPart1, timePart2, grantPart2, numbersPart1, changesPart3, freshPart1, clientsPart3, livenessPart2, primaryPart1, linePart3, sharesPart2, kindsPart2, linePart5, `local member = memberOf(ARGV[2], ARGV[3])
local rank, before = redis.call('ZRANK', queue, member), unserved()
redis.call('ZREM', queue, member)
if ARGV[4] == 'waiting' then
markAlive()
end
settle()
leaveToExpire()`, blockerPart1, `local who, heldFor, keptFor = whoHolds()
return reply('LEFT', who, heldFor, rank and rank + before or -1, keptFor)`] as const;

export const primary = ['primary', 1, `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local marker, STRICT = KEYS[1], tonumber(ARGV[1])
if not STRICT then
return { redis.call('HGET', marker, 'id') and 'STRICT' or 'FREE', now }
end`, primaryPart1, `local may = mayGrant()
if trouble then
return type(trouble) == 'table' and trouble or { 'UNKNOWN', now }
end
redis.call('PEXPIRE', marker, markerLife(tonumber(redis.call('HGET', marker, 'lease'))))
return { may and 'GRANTS' or 'WAITS', now, may and 0 or grantableAt - now }`] as const;

export const releaseShared = ['releaseShared', 3, lockPart1, timePart2, numbersPart1, fullPart4, `local function passOn()
local sequence, mark = string.match(ARGV[2], '^(%d+):(%S*)$')
if STRICT or not sequence or ARGV[3] ~= '0' or ARGV[4] ~= 'idle' then
return nil
end
local used, limit, firstEnd, lastEnd, own, record = readFull()
local from = own and string.find(own, ',' .. sequence .. ':', 1, true)
if not from then
return nil
end
local weight, ownEnd, to = string.match(own, '^,%d+:(%d+):%d*:%d+:(k?%d*)()', from)
local head, behind = unpack(redis.call('ZRANGE', queue, '0', '1'))
local name, next, ask, most = string.match(head or '', '^([^:]+):(%d+):p(%d+)/(%d+)$')
if string.sub(ownEnd, 1, 1) == 'k' or not behind or not name or tonumber(most) ~= limit
or used - weight <= 0 or used - weight + ask ~= limit
or redis.call('ZSCORE', queue, client .. ':' .. sequence .. (mark == '' and '' or ':' .. mark)) then
return nil
end
local theirs, gained = unpack(redis.call('HMGET', hash, 'client:' .. name, 'held:' .. name))
local server, where = string.match(theirs or '', '^generation=%d+ server=(%S+) subscribed=%d+ suspect=0 .* where=(%S*)$')
local deadline = server and server ~= '-' and redis.call('ZSCORE', clients, name)
local channel = string.match(hash, '^[^{]*') .. 'client:' .. name
if not deadline or #deadline ~= 13 or deadline < stampMs or (redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0) == 0 then
return nil
end
local isLast = string.sub(own, from - 1, from - 1) == '=' and string.sub(own, to, to) == ' '
own = not isLast and string.sub(own, 1, from - 1) .. string.sub(own, to)
if name == client then
gained = own
end
local now = tonumber(stampMs)
local ends, entries, about = now + FIRST_LEASE_TEXT, '', where
if gained then
local before, start = string.match(gained, '^end=(%d+) requests=()')
local rest = string.find(gained, ' label=', 1, true)
ends, entries, about = math.max(tonumber(before), ends), string.sub(gained, start, rest - 1), string.sub(gained, rest + 7)
about = about == '' and where or about
end
firstEnd, lastEnd = math.min(firstEnd, ends), math.max(lastEnd, ends)
redis.call('ZREMRANGEBYRANK', queue, '0', '0')
redis.call('HSET', hash, 'used', int(limit), 'first-end', int(firstEnd), 'last-end', int(lastEnd), 'since', stampMs, 'label', where,
'last-token', stamp, 'held:' .. name, 'end=' .. int(ends) .. ' requests=' .. entries
.. ',' .. next .. ':' .. ask .. ':' .. most .. ':' .. stamp .. ': label=' .. about)
redis.call('PEXPIRE', hash, int(lastEnd - now + WINDOW + RETENTION))
local generation = tonumber(string.match(record or '', '^generation=(%d+)')) or 0
local gain, left, wake = next .. ':' .. stamp, ends - now, firstEnd - now
if name == client then
return { 'LEFT', tonumber(stamp), wake, gain, 0, left, 0, generation, where, 0, -1 }
end
if own then
redis.call('HSET', hash, 'held:' .. client, own)
else
redis.call('HDEL', hash, 'held:' .. client)
end
redis.pcall('PUBLISH', channel, 'shared ' .. stamp .. ' ' .. int(left) .. ' ' .. gain .. ' ' .. hash)
return { 'LEFT', tonumber(stamp), wake, '', 0, 0, 0, generation, where, 0, -1 }
end
local passed = passOn()
if passed then
return passed
end`, grantPart2, changesPart3, freshPart1, clientsPart3, livenessPart2, primaryPart1, linePart3, sharesPart2, kindsPart2, linePart5, `local rank, before = nil, unserved()
keepHash()
for sequence, mark in string.gmatch(ARGV[2], '(%d+):(%S*)') do
local member = memberOf(sequence, mark)
local place = redis.call('ZRANK', queue, member)
if place then
redis.call('ZREM', queue, member)
rank = rank or place
end
if kinds then
endShare(client, sequence, whole(ARGV[3]) or 0)
end
end
if ARGV[4] == 'waiting' then
markAlive()
end
settle()
leaveToExpire()`, blockerPart1, `local who, heldFor, keptFor = whoHolds()
return reply('LEFT', who, heldFor, rank and rank + before or -1, keptFor)`] as const;

export const release = ['release', 3, lockPart1, `local me, waiting, back, keep = client .. ':' .. ARGV[3], ARGV[6] == 'waiting', ARGV[5] or '', ARGV[7] or ''
local state, holder, token = unpack(redis.call('HMGET', hash, 'state', 'holder', 'token'))
local plain = state == 'held' or state == 'held+queue'
local mine = (plain or state == 'held+kinds') and holder == client and token == ARGV[2]
local usual = plain and mine and back == '' and not waiting and keep == ''
local head, behind, lastToken
if usual and state ~= 'held' then
head, behind = unpack(redis.call('ZRANGE', queue, '0', '1'))
lastToken = redis.call('HGET', hash, 'last-token')
usual = lastToken and #lastToken == 16
end
if usual and not head and ARGV[4] ~= '0' and (not lastToken or lastToken < ARGV[4])
and type(redis.pcall('HSET', hash, 'state', 'free', 'released-request', me)) == 'number' then
redis.call('PEXPIREAT', hash, ARGV[4])
return 'RELEASED'
end`, timePart2, `if usual and head and lastToken < stamp and not STRICT then
local name, sequence = string.match(head, '^([^:]+):(%d+)$')
if name and name ~= client and string.sub(behind or '', 1, #name) ~= name then
local server, where = string.match(redis.call('HGET', hash, 'client:' .. name) or '',
'^generation=%d+ server=(%S+) subscribed=%d+ suspect=0 .* where=(%S*)$')
local deadline = server and server ~= '-' and redis.call('ZSCORE', clients, name)
local channel = string.match(hash, '^[^{]*') .. 'client:' .. name
if deadline and #deadline == 13 and deadline >= stampMs and (redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0) > 0 then
redis.call('ZREMRANGEBYRANK', queue, '0', '0')
redis.call('HSET', hash, 'holder', name, 'token', stamp, 'last-token', stamp, 'requests', sequence,
'since', stampMs, 'lease', FIRST_LEASE_TEXT, 'label', where,
'released-request', me)
redis.call('PEXPIRE', hash, FIRST_LEASE_LIFE)
if not behind then
redis.call('PEXPIRE', clients, REST_TEXT)
end
redis.pcall('PUBLISH', channel, 'granted ' .. stamp .. ' ' .. FIRST_LEASE_TEXT .. ' ' .. stamp .. ' ' .. sequence .. ' ' .. hash)
return 'RELEASED ' .. stamp .. ' ' .. FIRST_LEASE_TEXT
end
end
end`, grantPart2, numbersPart1, changesPart3, `if not mine then
return reply(releasedRequest == me and 'RELEASED' or 'LOST')
end`, freshPart1, clientsPart3, livenessPart2, primaryPart1, linePart3, sharesPart2, kindsPart2, linePart5, `ended = { 'released-request', me }
keepHash()
if back ~= '' then
requeue(back)
end
local keptUntil = keep ~= '' and math.min(since + (whole(keep) or 0), LONGEST) or 0
if keptUntil > now then
keepUntil(keptUntil)
else
held = false
end
if waiting then
markAlive()
end
settle()
return reply('RELEASED')`] as const;

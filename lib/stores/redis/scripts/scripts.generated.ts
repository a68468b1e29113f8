// Made from scripts/*.lua by `npm run lua`. Do not edit.

const usualPart1 = `local count, answers = #KEYS / 3, {}
local words = #ARGV / count
for i = 1, count do
local at = (i - 1) * words
answers[i] = usual(3 * i - 2, words, ARGV[at + 1], ARGV[at + 2])
if not answers[i] then
break
end
end
if #answers == count then
return count == 1 and answers[1] or answers
end`;
const numberPart1 = `local function number(value)
return string.format('%.0f', value)
end`;
const lockPart2 = `local UNREADABLE = 'PROTOCOL the data of the lock cannot be read'
local MOST_VALUES = 1000
local function open(time, first, id)
local hash = KEYS[first]
local state, held, mark = unpack(redis.call('HMGET', hash, 'format', 'h:' .. (id or ''), 'x:' .. (id or '')))
local token, mode, used, limit, mixed, ends, scan, least
if state then
local format = string.match(state, '^%d+')
token, mode, used, limit, mixed, ends, scan, least = string.match(state, '^%d+ (%d+) (%S+) (%d+) ([%d-]+)(%+?) (%S+) ?(%S*) ?(%S*)$')
if format and format ~= FORMAT then
return nil, 'FORMAT ' .. format .. ' ' .. FORMAT
elseif not (token and (mode == '-' or tonumber(ends))) then
return nil, UNREADABLE
end
end
return {
hash = hash, queue = KEYS[first + 1], clients = KEYS[first + 2],
prefix = string.match(hash, '^[^{]*'),
now = time[1] * 1000 + math.floor(time[2] / 1000), micros = time[1] * 1000000 + time[2],
token = tonumber(token or 0),
mode = mode ~= '-' and mode or nil,
used = tonumber(used or 0),
limit = tonumber(limit), isMixed = mixed == '+',
ends = tonumber(ends) or math.huge,
scan = scan ~= '' and scan or nil, least = tonumber(least) or math.huge,
held = held, mark = mark,
state = state,
fields = {},
life = 0,
granted = {},
reached = {}, hasDeaf = false,
messages = {},
entered = false, gone = 0, left = {}, isStale = false,
more = false,
}
end
local function tell(lock, client, text)
lock.messages[#lock.messages + 1] = { lock.prefix .. 'client:' .. client, text }
end
local function outlive(key, ms)
local isShort = redis.call('PTTL', key) < ms
if isShort then
redis.call('PEXPIRE', key, number(ms + WINDOW))
end
return isShort
end
local function inParts(command, key, values)
for from = 1, #values, MOST_VALUES do
redis.call(command, key, unpack(values, from, math.min(from + MOST_VALUES - 1, #values)))
end
end
local function set(lock, field, value)
lock.fields[#lock.fields + 1], lock.fields[#lock.fields + 2] = field, value
end
local function keepAlive(lock)
if lock.life > 0 then
outlive(lock.hash, lock.life)
lock.life = 0
end
end
local function flush(lock)
lock.token = lock.token == 0 and lock.micros or lock.token
if lock.used == 0 then
lock.mode, lock.scan = nil, nil
end
local state = string.format('%s %.0f %s %.0f %s%s %s', FORMAT, lock.token, lock.mode or '-', lock.used,
lock.limit and number(lock.limit) or '-', lock.isMixed and '+' or '', lock.used > 0 and number(lock.ends) or '-')
if lock.scan then
state = state .. ' ' .. lock.scan .. ' ' .. number(math.min(lock.least, 2 ^ 53))
end
if state ~= lock.state then
table.insert(lock.fields, 1, state)
table.insert(lock.fields, 1, 'format')
if lock.state then
keepAlive(lock)
else
lock.life = math.max(lock.life, 2 * WINDOW)
end
lock.state = state
end
if #lock.fields > 0 then
inParts('HSET', lock.hash, lock.fields)
lock.fields = {}
end
keepAlive(lock)
end
local function clear(lock)
lock.limit, lock.isMixed = nil, false
local ahead = math.min(math.ceil((lock.token - lock.micros) / 1000), WINDOW)
if #lock.fields > 0 or redis.call('HLEN', lock.hash) > (lock.state and 1 or 0) + redis.call('HEXISTS', lock.hash, 'ahead') then
return false
elseif ahead > 0 then
flush(lock)
redis.call('PEXPIRE', lock.hash, ahead + 1)
else
redis.call('DEL', lock.hash)
end
return true
end
local function close(lock)
local isEmpty = (lock.used == 0 or lock.isStale) and redis.call('EXISTS', lock.queue) == 0
if isEmpty then
redis.pcall('ZREMRANGEBYSCORE', lock.clients, '-inf', '+inf')
end
if lock.used > 0 or not isEmpty or not clear(lock) then
flush(lock)
end
for _, message in ipairs(lock.messages) do
redis.pcall('PUBLISH', message[1], message[2])
end
end`;
const termsPart1 = `local PLAIN = { mode = 'write', weight = 1, isPlain = true }
local function readTerms(text)
if text == '' then
return PLAIN
end
local weight, limit = string.match(text, '^p(%d+)/(%d+)')
return {
mode = weight and 'permits' or string.sub(text, 1, 1) == 'r' and 'read' or 'write',
weight = tonumber(weight) or 1,
limit = tonumber(limit),
fixed = tonumber(string.match(text, 'f(%d+)') or nil),
isPlain = text == 'u',
isUncounted = string.sub(text, -1) == 'u',
}
end
local function admits(lock, terms)
if lock.used == 0 or terms.mode == 'write' then
return lock.used == 0
end
return terms.mode == lock.mode
and (lock.mode == 'read' or lock.used + terms.weight <= math.min(terms.limit, lock.limit or terms.limit))
end`;
const holdersPart1 = `local MOST_HOLDERS = 1000
local function readHold(value)
local ends, token, text = string.match(value, '^(%d+) (%d+) ([^:]*):')
return { ends = tonumber(ends) or 0, token = tonumber(token) or 0, terms = readTerms(text or '') }
end
local function endFirst(lock, ends)
lock.ends, lock.scan, lock.least = ends, nil, math.huge
end
local function setHold(lock, id, ends, rest)
set(lock, 'h:' .. id, number(ends) .. ' ' .. rest)
lock.ends, lock.least = math.min(lock.ends, ends), math.min(lock.least, ends)
lock.life = math.max(lock.life, ends - lock.now)
end
local function setLimit(lock, limit)
if limit then
lock.isMixed = lock.isMixed or lock.limit ~= nil and lock.limit ~= limit
lock.limit = limit
end
end
local function take(lock, terms)
lock.mode, lock.used = terms.mode, lock.used + terms.weight
setLimit(lock, terms.limit)
end
local function hold(lock, id, about, terms, lease, kept)
local token = math.max(lock.micros, lock.token + 1)
lock.token = token + (kept or 0)
if lock.token > lock.micros then
set(lock, 'ahead', '1')
end
if lock.used == 0 then
endFirst(lock, math.huge)
end
take(lock, terms)
setHold(lock, id, lock.now + (terms.fixed or lease), number(token) .. ' ' .. about)
return token
end
local function drop(lock, id, value)
redis.call('HDEL', lock.hash, 'h:' .. id)
lock.used = math.max(0, lock.used - readHold(value).terms.weight)
if lock.used == 0 then
lock.mode = nil
endFirst(lock, math.huge)
end
end
local function eachHold(lock, found)
local cursor, looked = '0', 0
repeat
local page = redis.call('HSCAN', lock.hash, cursor, 'MATCH', 'h:*', 'COUNT', MOST_HOLDERS)
for i = 1, #page[2], 2 do
if found(string.sub(page[2][i], 3), page[2][i + 1]) then
return
end
end
cursor, looked = page[1], looked + 1
until cursor == '0' or looked == 10
end
local function renewLimit(lock, limit)
if not limit or limit ~= lock.limit or not lock.isMixed then
return
end
local last = redis.call('ZREVRANGE', lock.queue, 0, 0)[1]
local newest, found = 0, last and readTerms(string.match(last, '^[^:]+:%d+:([^:]*)') or '').limit
if not found then
flush(lock)
eachHold(lock, function(_, value)
local was = readHold(value)
if was.terms.limit and was.token > newest then
newest, found = was.token, was.terms.limit
end
end)
end
lock.limit = found or nil
end
local function expire(lock)
if lock.ends > lock.now then
return
end
flush(lock)
local sum, cursor, over = 0, lock.scan, {}
local page = redis.call('HSCAN', lock.hash, cursor or '0', 'COUNT', MOST_HOLDERS)
for i = 1, #page[2], 2 do
local field, value = page[2][i], page[2][i + 1]
local kind, ends = string.match(field, '^[hx]:'), tonumber(string.match(value, '^%d+')) or 0
if kind and ends <= lock.now then
over[#over + 1] = field
lock.used = kind == 'h:' and math.max(0, lock.used - readHold(value).terms.weight) or lock.used
elseif kind == 'h:' then
lock.least, sum = math.min(lock.least, ends), sum + readHold(value).terms.weight
end
end
inParts('HDEL', lock.hash, over)
if page[1] ~= '0' then
lock.scan, lock.more = page[1], true
return
end
if not cursor or lock.least >= 2 ^ 53 then
lock.used = sum
end
if lock.used == 0 then
lock.mode = nil
end
endFirst(lock, lock.least)
if #over > 0 then
renewLimit(lock, lock.limit)
end
end`;
const heldPart1 = `local function describeHeld(lock, value)
local was = readHold(value)
lock.life = math.max(lock.life, was.ends - lock.now)
return 'held ' .. number(math.max(0, was.ends - lock.now)) .. ' ' .. number(was.token)
end`;
const blockerPart1 = `local function blocker(lock)
if lock.used == 0 then
return ''
end
flush(lock)
local longest, who, kept, keeper = nil, '', 0, ''
eachHold(lock, function(id, value)
local was, label = readHold(value), string.match(value, '^[^:]*:(.*)$') or ''
if string.sub(id, 1, 1) == '-' then
if was.ends - lock.now > kept then
kept, keeper = was.ends - lock.now, label
end
elseif not longest or was.token < longest then
longest, who = was.token, label
end
end)
local heldFor = longest and math.max(0, lock.now - math.floor(longest / 1000)) or 0
return number(lock.used) .. ' ' .. (lock.limit and number(lock.limit) or '-') .. ' ' .. number(heldFor) .. ' '
.. (longest and 0 or number(kept)) .. ' ' .. (longest and who or keeper)
end`;
const strictPart1 = `local markerLife, grantableAt
if STRICT then
local MARKER_LIFE = 3600000
function markerLife(lease)
return number(math.min(math.max(MARKER_LIFE, 10 * lease), 2 ^ 53))
end
function grantableAt(marker, now)
local info, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
local id = type(info) == 'string' and string.match(info, 'run_id:(%w+)')
local before = type(replication) == 'string' and string.match(replication, 'master_replid2:(0*[1-9a-f]%x*)') or ''
local known = redis.pcall('HGET', marker, 'id')
if not id then
return math.huge, type(info) == 'table' and info or 'unknown'
elseif type(known) == 'table' then
return math.huge, known
end
local since, longest = redis.call('HGET', marker, 'since'), redis.call('HGET', marker, 'lease')
local lease = math.max(STRICT, tonumber(longest) or 0)
local isNew = known ~= id or not tonumber(since) or before ~= '' and before ~= redis.call('HGET', marker, 'before')
if isNew then
since = now
end
if isNew or longest ~= number(lease) then
local written = redis.pcall('HSET', marker, 'id', id, 'before', before, 'since', number(since), 'lease', number(lease))
if type(written) == 'table' and written.err then
return math.huge, written
end
redis.call('PEXPIRE', marker, markerLife(lease))
end
return since + lease
end
end
local function mayGrant(lock)
if not STRICT then
return true
end
lock.mayGrantAt = lock.mayGrantAt or grantableAt(lock.prefix .. 'primary', lock.now)
return lock.now >= lock.mayGrantAt
end`;
const queuePart1 = `local function markAlive(lock, client)
local isNew = redis.call('ZADD', lock.clients, lock.now + WINDOW, client) == 1
outlive(lock.clients, 2 * WINDOW)
if isNew then
redis.call('ZREMRANGEBYSCORE', lock.clients, 0, '(' .. number(lock.now))
end
end
local function keepQueue(lock)
if outlive(lock.queue, 2 * WINDOW) then
outlive(lock.hash, math.max(2 * WINDOW, lock.used > 0 and lock.ends - lock.now or 0))
end
end
local function enter(lock, client, name, ticket)
local place = ticket
if ticket == '' then
local score = lock.last or redis.call('ZREVRANGE', lock.queue, 0, 0, 'WITHSCORES')[2]
lock.last = math.max(lock.micros, score and score + 1 or 0)
place = number(lock.last)
end
local isFirst = not lock.entered
if isFirst then
markAlive(lock, client)
end
local isNew = redis.call('ZADD', lock.queue, ticket == '' and 'NX' or 'LT', place, name) == 1
if isFirst then
keepQueue(lock)
lock.entered = true
end
return isNew and ticket == '' and place or nil
end`;
const passPart1 = `local MOST_ENTRIES, PAGE = 1000, 64
local MOST_TOGETHER = 64
local SILENCE = 250
local FIRST_LEASE = math.min(WINDOW, LEASE)
local function reach(lock, client, isUncounted)
local found = lock.reached[client]
if not found then
local alive = tonumber(redis.call('ZSCORE', lock.clients, client) or 0)
if alive < lock.now then
found = 'gone'
elseif isUncounted or (redis.pcall('PUBSUB', 'NUMSUB', lock.prefix .. 'client:' .. client)[2] or 1) > 0 then
found = 'here'
else
found, lock.hasDeaf = 'deaf', true
redis.call('ZADD', lock.clients, 'XX', 'LT', lock.now + SILENCE, client)
end
lock.reached[client] = found
end
return found
end
local function leave(lock, names)
if #names > 0 then
flush(lock)
inParts('ZREM', lock.queue, names)
for _, name in ipairs(names) do
lock.left[name] = true
end
lock.gone = lock.gone + #names
end
end
local function sweep(lock, caller)
local gone, entries, limit = {}, redis.call('ZRANGE', lock.queue, 0, MOST_ENTRIES - 1), nil
for _, name in ipairs(entries) do
local client, terms = string.match(name, '^([^:]+):%d+:([^:]*)')
if client ~= caller and (not client or reach(lock, client, string.sub(terms, -1) == 'u') == 'gone') then
gone[#gone + 1] = name
limit = readTerms(terms or '').limit == lock.limit and lock.limit or limit
end
end
leave(lock, gone)
renewLimit(lock, limit)
lock.more = lock.more or #entries == MOST_ENTRIES and #gone > 0
end
local function joins(client, name)
return string.sub(name, 1, #client + 1) == client .. ':' and string.match(name, '^[^:]+:(%d+):u?:')
end
local function give(lock, name, behind, rank, client, terms, lease)
local sequence, about = string.match(name, '^[^:]+:(%d+):(.*)$')
local id = client .. ':' .. sequence
if redis.call('HEXISTS', lock.hash, 'h:' .. id) == 1 then
return
end
local gain = lock.granted[client] or { left = lease }
lock.granted[client] = gain
gain[#gain + 1] = sequence
local kept = 0
if terms.isPlain and behind and joins(client, behind) then
for _, other in ipairs(redis.call('ZRANGE', lock.queue, rank + 1, rank + MOST_TOGETHER - 1)) do
local neighbour = joins(client, other)
if not neighbour then
break
end
kept = kept + 1
gain[#gain + 1] = neighbour
end
end
gain.token = hold(lock, id, about, terms, lease, kept)
end
local function pass(lock, caller)
local rank, size, isBlocked, names, limit = 0, 2, false, {}, nil
while not isBlocked and (lock.used == 0 or lock.mode ~= 'write') do
local page = redis.call('ZRANGE', lock.queue, rank, rank + size - 1)
for i, name in ipairs(page) do
local client, terms = string.match(name, '^[^:]+'), readTerms(string.match(name, '^[^:]+:%d+:([^:]*)') or '')
local found = client == caller and 'here' or reach(lock, client, terms.isUncounted)
if found == 'gone' then
names[#names + 1] = name
limit = terms.limit == lock.limit and lock.limit or limit
elseif found == 'here' then
if not admits(lock, terms) or not mayGrant(lock) then
isBlocked = true
break
end
give(lock, name, page[i + 1], rank + i - 1, client, terms, client == caller and LEASE or FIRST_LEASE)
names[#names + 1] = name
isBlocked = lock.mode == 'write'
if isBlocked then
break
end
end
end
rank = rank + #page
if #page < size then
break
elseif rank >= MOST_ENTRIES then
lock.more = lock.more or not isBlocked and #names > 0
break
end
size = math.min(2 * size, PAGE)
end
leave(lock, names)
renewLimit(lock, limit)
for client, gain in pairs(lock.granted) do
if client ~= caller and not gain.isSent then
gain.isSent = true
tell(lock, client, 'granted ' .. number(gain.token) .. ' ' .. number(gain.left) .. ' '
.. table.concat(gain, ',') .. ' ' .. lock.hash)
end
end
end`;
const replyPart1 = `local function reply(lock, client, answers)
local gain = lock.granted[client]
local granted = gain and number(gain.token) .. ' ' .. number(gain.left) .. ' ' .. table.concat(gain, ',') or ''
local again, urgent = math.huge, ''
if lock.more then
again, urgent = 0, '!'
elseif lock.mayGrantAt and lock.mayGrantAt > lock.now then
again = math.min(lock.mayGrantAt - lock.now, WINDOW)
elseif lock.used > 0 then
again = math.max(0, lock.ends - lock.now) + 1
end
if lock.hasDeaf and again > SILENCE then
again, urgent = SILENCE + 1, lock.used == 0 and '!' or ''
end
local last = lock.token == 0 and lock.micros or lock.token
local all = { number(last), again == math.huge and '' or urgent .. number(math.min(again, 2 ^ 53)), granted }
for _, answer in ipairs(answers) do
all[#all + 1] = answer
end
return all
end`;
const severalPart1 = `local function answerRest(answers, usual, full)
local count = #KEYS / 3
if count == 1 then
local answer, problem = full(1, ARGV)
return answer or redis.error_reply(problem)
end
local words = #ARGV / count
for i = #answers + 1, count do
local values, answer, problem = { unpack(ARGV, (i - 1) * words + 1, i * words) }, nil, nil
answer = usual and usual(3 * i - 2, words, values[1], values[2])
if not answer then
answer, problem = full(3 * i - 2, values)
end
answers[i] = answer or problem
end
return answers
end`;

export const acquire = ['acquire', `local time = redis.call('TIME')
local function usual(first, words, id, about)
if words ~= 2 or STRICT or string.byte(about) ~= 58 or redis.call('EXISTS', KEYS[first], KEYS[first + 1], KEYS[first + 2]) > 0 then
return nil
end
local token = string.format('%s%06d', time[1], time[2])
local ends = time[1] * 1000 + math.floor(time[2] / 1000) + LEASE
redis.call('HSET', KEYS[first], 'format', FORMAT .. ' ' .. token .. ' write 1 - ' .. ends, 'h:' .. id, ends .. ' ' .. token .. ' ' .. about)
redis.call('PEXPIRE', KEYS[first], LEASE)
return token
end`, usualPart1, numberPart1, lockPart2, termsPart1, holdersPart1, heldPart1, blockerPart1, strictPart1, queuePart1, passPart1, replyPart1, severalPart1, `local function isNext(lock, waiting, terms)
return waiting == 0 and admits(lock, terms) and mayGrant(lock)
end
local function refusal(lock, client, waiting, name, terms, most)
if redis.call('ZSCORE', lock.queue, name) then
return nil, waiting
elseif most == 'try' then
return not admits(lock, terms) and 'busy ' .. blocker(lock) or nil, waiting
elseif waiting < tonumber(most) then
return nil, waiting
end
sweep(lock, client)
pass(lock, client)
waiting = redis.call('ZCARD', lock.queue)
return waiting >= tonumber(most) and not isNext(lock, waiting, terms) and 'full ' .. waiting or nil, waiting
end
local function recordsOf(lock, values)
local fields = {}
for i = 5, #values, 4 do
fields[#fields + 1], fields[#fields + 2] = 'h:' .. values[i], 'x:' .. values[i]
end
return #fields > 0 and redis.call('HMGET', lock.hash, unpack(fields)) or {}
end
local function ask(first, values)
local lock, problem = open(time, first, values[1])
if problem then
return nil, problem
end
expire(lock)
lock.isStale = not lock.state and redis.call('EXISTS', lock.clients) == 1
local client, waiting = string.match(values[1], '^[^:]+'), redis.call('ZCARD', lock.queue)
local told, inQueue, records = {}, {}, recordsOf(lock, values)
for i = 1, #values, 4 do
local id, about, most, ticket = values[i], values[i + 1], values[i + 2] or '', values[i + 3] or ''
local name, terms, answer = id .. ':' .. about, readTerms(string.match(about, '^[^:]*')), nil
local held, mark = lock.held, lock.mark
if i > 1 then
held, mark = records[(i - 3) / 2], records[(i - 1) / 2]
end
if held then
answer = describeHeld(lock, held)
elseif mark then
answer = 'over'
else
local limit, isMixed = lock.limit, lock.isMixed
setLimit(lock, terms.limit)
if #values <= 4 and isNext(lock, waiting, terms) then
hold(lock, id, about, terms, LEASE)
lock.granted[client] = { token = lock.token, left = LEASE, string.match(id, '%d+$') }
answer = 'granted'
else
if most ~= '' and ticket == '' then
answer, waiting = refusal(lock, client, waiting, name, terms, most)
end
if answer then
lock.limit, lock.isMixed = limit, isMixed
else
inQueue[#told + 1] = {
name = name, most = most, rank = waiting + lock.gone, limit = limit, isMixed = isMixed, ticket = enter(lock, client, name, ticket),
}
waiting = waiting + 1
end
end
end
told[#told + 1] = answer or 'line'
end
if next(inQueue) then
pass(lock, client)
end
for i, entry in pairs(inQueue) do
local isLeft, ticket, rank = lock.left[entry.name], entry.ticket, entry.rank - lock.gone
if not ticket and not isLeft then
local score = redis.call('ZSCORE', lock.queue, entry.name)
ticket, rank = score and number(score), redis.call('ZRANK', lock.queue, entry.name)
end
if isLeft or not ticket then
told[i] = 'granted'
elseif entry.most == 'try' then
redis.call('ZREM', lock.queue, entry.name)
lock.limit, lock.isMixed = entry.limit, entry.isMixed
told[i] = 'busy ' .. blocker(lock)
else
told[i] = 'line ' .. ticket .. ' ' .. rank
end
end
close(lock)
return reply(lock, client, told)
end
return answerRest(answers, usual, ask)`] as const;

export const done = ['done', `local function usual(first, words, id)
if words == 1 and redis.call('EXISTS', KEYS[first + 1], KEYS[first + 2]) == 0 and redis.call('HLEN', KEYS[first]) == 2
and redis.call('HEXISTS', KEYS[first], 'h:' .. id) == 1 then
return redis.call('DEL', KEYS[first])
end
end`, usualPart1, numberPart1, lockPart2, termsPart1, holdersPart1, blockerPart1, strictPart1, passPart1, replyPart1, severalPart1, `local MANY = 100
local time = redis.call('TIME')
local function force(lock, ids, token)
local hasEnded = false
for i, id in ipairs(ids) do
local value = redis.call('HGET', lock.hash, 'h:' .. id)
local was = value and readHold(value)
if was and (i > 1 or token == '' or number(was.token) == token) then
drop(lock, id, value)
renewLimit(lock, was.terms.limit)
hasEnded = true
local owner, sequence = string.match(id, '^([^:-]+):(%d+)$')
if owner then
tell(lock, owner, 'lost ' .. sequence .. ' ' .. number(was.token) .. ' ' .. lock.hash)
end
end
end
return hasEnded and 'held' or 'none'
end
local function keep(lock, id, value, ms)
local was = readHold(value)
local ends = math.min(math.ceil(was.token / 1000), lock.now) + ms
if ends <= lock.now then
return
end
local kept = redis.call('HGET', lock.hash, 'h:-' .. id)
if kept then
drop(lock, '-' .. id, kept)
end
take(lock, was.terms)
setHold(lock, '-' .. id, ends, string.match(value, '^%d+ (.*)$'))
end
local function finishOne(lock, id, name, value)
local rank, answer = name and redis.call('ZRANK', lock.queue, name), 'none'
if rank then
redis.call('ZREM', lock.queue, name)
answer = 'line ' .. rank
end
if value then
drop(lock, id, value)
answer = 'held'
end
if answer ~= 'none' then
local terms = value and readHold(value).terms or readTerms(string.match(name, '^[^:]+:%d+:([^:]*)') or '')
renewLimit(lock, terms.limit)
end
return answer
end
local function finishServed(lock, names)
if #names == 0 then
return
end
local fields = {}
for i, name in ipairs(names) do
fields[i] = 'h:' .. string.match(name, '^[^:]+:%d+')
end
for i, value in ipairs(redis.call('HMGET', lock.hash, unpack(fields))) do
if value then
drop(lock, string.sub(fields[i], 3), value)
end
end
inParts('ZREM', lock.queue, names)
end
local function finish(first, values)
local id, about, how = values[1], values[2] or '', values[3] or ''
local client = how == 'force' and '' or string.match(id, '^[^:]+')
local lock, problem = open(time, first, id)
if problem == UNREADABLE and how == 'force' then
redis.call('DEL', KEYS[first])
lock, problem = open(time, first, id)
end
if problem then
return nil, problem
end
local answer
if how == 'force' then
answer = force(lock, { id, unpack(values, 5) }, values[4] or '')
else
answer = finishOne(lock, id, about ~= '' and id .. ':' .. about, lock.held)
finishServed(lock, { unpack(values, 5) })
if how == 'keep' and lock.held then
keep(lock, id, lock.held, tonumber(values[4]))
end
end
if answer == 'none' then
redis.call('HDEL', lock.hash, '')
if (tonumber(redis.pcall('ZCARD', lock.clients)) or 0) > 0 then
outlive(lock.clients, 2 * WINDOW)
end
lock.ends = lock.used > 0 and math.min(lock.ends, lock.now) or lock.ends
local head = redis.call('ZRANGE', lock.queue, 0, 0)[1]
if head then
tell(lock, string.match(head, '^[^:]+'), 'look ' .. lock.hash)
end
end
if how == 'mark' or how == 'leave' and values[4] == 'mark' then
set(lock, 'x:' .. id, lock.now + MARK)
lock.life = math.max(lock.life, MARK)
if redis.call('HLEN', lock.hash) > MANY then
lock.ends = math.min(lock.ends, lock.now)
end
end
expire(lock)
pass(lock, client)
if how == 'keep' and lock.used > 0 then
local told = {}
for _, name in ipairs(redis.call('ZRANGE', lock.queue, 0, MOST_ENTRIES - 1)) do
local waiter = string.match(name, '^[^:]+')
if not told[waiter] then
told[waiter] = true
tell(lock, waiter, 'look ' .. lock.hash)
end
end
end
local why = how == 'leave' and blocker(lock) or nil
close(lock)
return reply(lock, client, { answer, why })
end
return answerRest(answers, usual, finish)`] as const;

export const heartbeat = ['heartbeat', `redis.call('HDEL', KEYS[1], '')`, numberPart1, lockPart2, termsPart1, holdersPart1, heldPart1, strictPart1, queuePart1, passPart1, replyPart1, severalPart1, `local function renew(lock, id, lease, present)
local value = redis.call('HGET', lock.hash, 'h:' .. id)
if not value then
return 'none'
end
local was = readHold(value)
local token, name = string.match(present, '^(%d+) (.*)$')
if name then
value = number(was.ends) .. ' ' .. token .. ' ' .. string.match(name, '^[^:]+:%d+:(.*)$')
end
local fixed = string.match(lease, '^=(%d+)$')
if fixed then
setHold(lock, id, lock.now + fixed, string.gsub(string.match(value, '^%d+ (.*)$'), '^(%d+ [^:]-)(a?u?):', '%1f' .. fixed .. '%2:'))
endFirst(lock, math.min(lock.ends, lock.now + fixed))
return 'held ' .. fixed .. ' ' .. number(was.token)
end
lease = tonumber(lease) or was.terms.fixed and 0 or LEASE
if lease == 0 and not name then
return describeHeld(lock, value)
end
local ends = math.max(was.ends, lease > 0 and lock.now + lease or 0)
setHold(lock, id, ends, string.match(value, '^%d+ (.*)$'))
if lock.mode == 'write' then
endFirst(lock, ends)
end
if name then
redis.call('ZREM', lock.queue, name)
end
return 'held ' .. number(ends - lock.now) .. ' ' .. number(was.token)
end
local time = redis.call('TIME')
local function beat(first, values)
local client, last = values[1], 2 + 3 * values[2]
local lock, problem = open(time, first)
if problem then
return nil, problem
end
expire(lock)
local answers, late = {}, {}
for i = 3, last, 3 do
answers[#answers + 1] = renew(lock, values[i], values[i + 1], values[i + 2])
end
if last < #values then
markAlive(lock, client)
keepQueue(lock)
sweep(lock, client)
end
pass(lock, client)
flush(lock)
for i = last + 1, #values do
local value = redis.call('HGET', lock.hash, 'h:' .. string.match(values[i], '^[^:]+:%d+'))
local isInQueue = redis.call('ZSCORE', lock.queue, values[i])
if value and isInQueue then
late[#late + 1] = values[i]
end
answers[#answers + 1] = value and describeHeld(lock, value) or isInQueue and 'line' or 'none'
end
leave(lock, late)
close(lock)
return reply(lock, client, answers)
end
return answerRest({}, nil, beat)`] as const;

export const inspect = ['inspect', numberPart1, lockPart2, termsPart1, holdersPart1, `local most, lock, problem = tonumber(ARGV[1]), open(redis.call('TIME'), 1)
if problem then
return redis.error_reply(problem)
end
local MOST_COUNTED = 16
local holds, channels = {}, {}
eachHold(lock, function(id, value)
holds[#holds + 1], holds[#holds + 2] = 'h:' .. id, value
if #channels < MOST_COUNTED and not readHold(value).terms.isUncounted then
channels[#channels + 1] = lock.prefix .. 'client:' .. string.match(id, '^-?([^:]*)')
end
return #holds >= 2 * most
end)
local listeners = redis.pcall('PUBSUB', 'NUMSUB', unpack(channels))
return {
number(lock.now), lock.mode or '', number(lock.used), lock.limit and number(lock.limit) or '',
holds,
redis.call('ZCARD', lock.queue),
redis.call('ZRANGE', lock.queue, 0, most - 1, 'WITHSCORES'),
redis.call('ZRANGE', lock.clients, 0, most - 1, 'WITHSCORES'),
listeners.err and {} or listeners,
number(lock.token),
}`] as const;

export const primary = ['primary', numberPart1, strictPart1, `local marker, time = KEYS[1], redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if not STRICT then
return { redis.call('HGET', marker, 'id') and 'STRICT' or 'FREE' }
end
local at, trouble = grantableAt(marker, now)
if trouble then
return type(trouble) == 'table' and trouble or { 'UNKNOWN' }
end
redis.call('PEXPIRE', marker, markerLife(tonumber(redis.call('HGET', marker, 'lease'))))
return now >= at and { 'GRANTS' } or { 'WAITS', at - now }`] as const;

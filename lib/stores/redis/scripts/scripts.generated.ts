// Made from scripts/*.lua by `npm run lua`. Do not edit.

const numberPart1 = `local function number(value)
return string.format('%.0f', value)
end`;
const lockPart2 = `local UNREADABLE = 'PROTOCOL the data of the lock cannot be read'
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
local function tell(lock, client, text)
redis.pcall('PUBLISH', lock.prefix .. 'client:' .. client, text)
end
local function outlive(key, ms)
local isShort = redis.call('PTTL', key) < ms
if isShort then
redis.call('PEXPIRE', key, number(ms + WINDOW))
end
return isShort
end
local function set(lock, field, value)
lock.fields[#lock.fields + 1], lock.fields[#lock.fields + 2] = field, value
end
local function flush(lock)
if #lock.fields > 0 then
redis.call('HSET', lock.hash, unpack(lock.fields))
lock.fields = {}
end
end
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
local function take(lock, terms)
lock.mode, lock.used, lock.limit = terms.mode, lock.used + terms.weight, terms.limit or lock.limit
end
local function hold(lock, id, about, terms, lease)
lock.token = math.max(lock.micros, lock.token + 1)
lock.rest = 0
if lock.used == 0 then
endFirst(lock, math.huge)
end
take(lock, terms)
setHold(lock, id, lock.now + (terms.fixed or lease), number(lock.token) .. ' ' .. about)
end
local function drop(lock, id, value)
redis.call('HDEL', lock.hash, 'h:' .. id)
lock.used, lock.rest = math.max(0, lock.used - readHold(value).terms.weight), 0
if lock.used == 0 then
lock.mode = nil
endFirst(lock, math.huge)
end
end
local function expire(lock)
if lock.ends > lock.now then
return
end
flush(lock)
local sum, cursor = 0, lock.scan
local page = redis.call('HSCAN', lock.hash, cursor or '0', 'COUNT', MOST_HOLDERS)
for i = 1, #page[2], 2 do
local field, value = page[2][i], page[2][i + 1]
local kind, ends = string.match(field, '^[hx]:'), tonumber(string.match(value, '^%d+')) or 0
if kind and ends <= lock.now then
redis.call('HDEL', lock.hash, field)
lock.used = kind == 'h:' and math.max(0, lock.used - readHold(value).terms.weight) or lock.used
elseif kind == 'h:' then
lock.least, sum = math.min(lock.least, ends), sum + readHold(value).terms.weight
end
end
if page[1] ~= '0' then
lock.scan, lock.more = page[1], true
return
end
if not cursor then
lock.used = sum
end
if lock.used == 0 then
lock.mode, lock.rest = nil, 0
end
endFirst(lock, lock.least)
end`;
const heldPart1 = `local function describeHeld(lock, value)
local was = readHold(value)
return 'held ' .. number(math.max(0, was.ends - lock.now)) .. ' ' .. number(was.token)
end`;
const blockerPart1 = `local function blocker(lock)
if lock.used == 0 then
return ''
end
flush(lock)
local page, longest, who, kept, keeper = redis.call('HSCAN', lock.hash, 0, 'MATCH', 'h:*', 'COUNT', MOST_HOLDERS)[2], nil, '', 0, ''
for i = 1, #page, 2 do
local was, label = readHold(page[i + 1]), string.match(page[i + 1], '^[^:]*:(.*)$') or ''
if string.sub(page[i], 3, 3) == '-' then
if was.ends - lock.now > kept then
kept, keeper = was.ends - lock.now, label
end
elseif not longest or was.token < longest then
longest, who = was.token, label
end
end
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
const linePart1 = `local function markAlive(lock, client)
if redis.call('ZADD', lock.clients, lock.now + WINDOW, client) == 1 then
redis.call('ZREMRANGEBYSCORE', lock.clients, 0, '(' .. number(lock.now))
outlive(lock.clients, 2 * WINDOW)
end
end
local function keepLine(lock)
if outlive(lock.queue, 2 * WINDOW) then
outlive(lock.clients, 2 * WINDOW)
outlive(lock.hash, 2 * WINDOW)
end
end
local function enter(lock, client, name, ticket)
local last = ticket
if ticket == '' then
local score = lock.last or redis.call('ZREVRANGE', lock.queue, 0, 0, 'WITHSCORES')[2]
lock.last = math.max(lock.micros, score and score + 1 or 0)
last = number(lock.last)
end
markAlive(lock, client)
local isNew = redis.call('ZADD', lock.queue, ticket == '' and 'NX' or 'LT', last, name) == 1
keepLine(lock)
return isNew and ticket == '' and last or nil
end`;
const passPart1 = `local MOST_ENTRIES, PAGE = 1000, 64
local MOST_TOGETHER = 64
local SILENCE = 250
local FIRST_LEASE = math.min(WINDOW, LEASE)
local function reach(lock, client, terms)
local found = lock.reached[client]
if not found then
local alive = tonumber(redis.call('ZSCORE', lock.clients, client) or 0)
if alive < lock.now then
found = 'gone'
elseif terms.isUncounted or (redis.pcall('PUBSUB', 'NUMSUB', lock.prefix .. 'client:' .. client)[2] or 1) > 0 then
found = 'here'
else
found = 'deaf'
redis.call('ZADD', lock.clients, 'XX', 'LT', lock.now + SILENCE, client)
end
lock.reached[client] = found
end
return found
end
local function joins(client, name)
return name and string.sub(name, 1, #client + 1) == client .. ':' and string.match(name, '^[^:]+:(%d+):u?:')
end
local function give(lock, name, behind, rank, client, terms, lease)
local gain = lock.granted[client] or { left = lease }
lock.granted[client] = gain
local sequence, about = string.match(name, '^[^:]+:(%d+):(.*)$')
hold(lock, client .. ':' .. sequence, about, terms, lease)
gain.token, gain[#gain + 1] = lock.token, sequence
local names = { name }
if terms.isPlain and joins(client, behind) then
for _, other in ipairs(redis.call('ZRANGE', lock.queue, rank + 1, rank + MOST_TOGETHER - 1)) do
local another = joins(client, other)
if not another then
break
end
gain[#gain + 1], names[#names + 1] = another, other
end
lock.rest = #names - 1
lock.token = lock.token + lock.rest
end
return names
end
local function pass(lock, caller)
local rank, looked, size, isBlocked = 0, 0, 2, false
while not isBlocked and (lock.used == 0 or lock.mode ~= 'write') do
local page, leave = redis.call('ZRANGE', lock.queue, rank, rank + size - 1), {}
for i, name in ipairs(page) do
local client, terms = string.match(name, '^[^:]+'), readTerms(string.match(name, '^[^:]+:%d+:([^:]*)') or '')
if not admits(lock, terms) or not mayGrant(lock) then
isBlocked = true
break
end
local found = client == caller and 'here' or reach(lock, client, terms)
if found == 'deaf' then
rank = rank + 1
elseif found == 'gone' then
leave[#leave + 1] = name
else
local granted = give(lock, name, page[i + 1], rank + #leave, client, terms, client == caller and LEASE or FIRST_LEASE)
for _, one in ipairs(granted) do
leave[#leave + 1] = one
end
end
end
if #leave > 0 then
redis.call('ZREM', lock.queue, unpack(leave))
lock.moved = true
end
looked = looked + #page
if #page < size then
break
elseif looked >= MOST_ENTRIES then
lock.more = not isBlocked and lock.moved
break
end
size = math.min(2 * size, PAGE)
end
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
local again = ''
if lock.more then
again = 0
elseif lock.mayGrantAt and lock.mayGrantAt > lock.now then
again = math.min(lock.mayGrantAt - lock.now, WINDOW)
elseif lock.used > 0 then
again = math.max(0, lock.ends - lock.now) + 1
elseif next(lock.reached) then
again = SILENCE
end
local last = lock.token == 0 and lock.micros or lock.token
return { number(last), again == '' and '' or number(math.min(again, 2 ^ 53)), granted, unpack(answers) }
end`;
const severalPart1 = `local function answerRest(answers, words, usual, full)
local count = #KEYS / 3
if count == 1 then
local answer, problem = full(1, ARGV)
return answer or redis.error_reply(problem)
end
for i = #answers + 1, count do
local values = { unpack(ARGV, words * (i - 1) + 1, words * i) }
local answer, problem = usual(3 * i - 2, values[1], values[2]), nil
if not answer then
answer, problem = full(3 * i - 2, values)
end
answers[i] = answer or problem
end
return answers
end`;

export const acquire = ['acquire', `local time, count, answers = redis.call('TIME'), #KEYS / 3, {}
local words = #ARGV / count
local function takeFree(first, id, about)
if words ~= 2 or STRICT or string.byte(about) ~= 58 or redis.call('EXISTS', KEYS[first], KEYS[first + 1]) > 0 then
return nil
end
local token = string.format('%s%06d', time[1], time[2])
local ends = time[1] * 1000 + math.floor(time[2] / 1000) + LEASE
redis.call('HSET', KEYS[first], 'format', FORMAT .. ' ' .. token .. ' write 1 - ' .. ends .. ' 0',
'h:' .. id, ends .. ' ' .. token .. ' ' .. about)
redis.call('PEXPIRE', KEYS[first], LEASE)
return token
end
for i = 1, count do
answers[i] = takeFree(3 * i - 2, ARGV[2 * i - 1], ARGV[2 * i])
if not answers[i] then
break
end
end
if #answers == count then
return count == 1 and answers[1] or answers
end`, numberPart1, lockPart2, termsPart1, holdersPart1, heldPart1, blockerPart1, strictPart1, linePart1, passPart1, replyPart1, severalPart1, `local function isNext(lock, waiting, terms)
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
pass(lock, client)
waiting = redis.call('ZCARD', lock.queue) + lock.rest
return waiting >= tonumber(most) and not isNext(lock, waiting, terms) and 'full ' .. waiting or nil, waiting
end
local function ask(first, values)
local lock, problem = open(time, first, values[1])
if problem then
return nil, problem
end
expire(lock)
local client, limit, waiting = string.match(values[1], '^[^:]+'), lock.limit, redis.call('ZCARD', lock.queue) + lock.rest
local told, inLine = {}, {}
for i = 1, #values, 4 do
local id, about, most, ticket = values[i], values[i + 1], values[i + 2] or '', values[i + 3] or ''
local name, terms, answer = id .. ':' .. about, readTerms(string.match(about, '^[^:]*')), nil
local held, mark = lock.held, lock.mark
if i > 1 then
held, mark = unpack(redis.call('HMGET', lock.hash, 'h:' .. id, 'x:' .. id))
end
if held then
answer = describeHeld(lock, held)
elseif mark then
answer = 'over'
else
lock.limit = terms.limit or lock.limit
if #values <= 4 and isNext(lock, waiting, terms) then
hold(lock, id, about, terms, LEASE)
lock.granted[client] = { token = lock.token, left = LEASE, string.match(id, '%d+$') }
answer = 'granted'
else
if most ~= '' and ticket == '' then
answer, waiting = refusal(lock, client, waiting, name, terms, most)
end
if answer then
lock.limit = limit
else
inLine[#told + 1] = { name = name, most = most, rank = waiting, ticket = enter(lock, client, name, ticket) }
waiting = waiting + 1
end
end
end
told[#told + 1] = answer or 'line'
end
if next(inLine) then
pass(lock, client)
end
for i, entry in pairs(inLine) do
local ticket, rank = entry.ticket, entry.rank
if lock.moved or not ticket then
local score = redis.call('ZSCORE', lock.queue, entry.name)
ticket, rank = score and number(score), redis.call('ZRANK', lock.queue, entry.name)
rank = rank and rank + lock.rest
end
if not ticket then
told[i] = 'granted'
elseif entry.most == 'try' then
redis.call('ZREM', lock.queue, entry.name)
lock.limit = limit
told[i] = 'busy ' .. blocker(lock)
else
told[i] = 'line ' .. ticket .. ' ' .. rank
end
end
close(lock)
return reply(lock, client, told)
end
return answerRest(answers, words, takeFree, ask)`] as const;

export const done = ['done', `local count, answers = #KEYS / 3, {}
local words = #ARGV / count
local function endUsual(first, id)
if words == 1 and redis.call('EXISTS', KEYS[first + 1]) == 0 and redis.call('HLEN', KEYS[first]) == 2
and redis.call('HEXISTS', KEYS[first], 'h:' .. id) == 1 then
return redis.call('DEL', KEYS[first])
end
end
for i = 1, count do
answers[i] = endUsual(3 * i - 2, ARGV[i])
if not answers[i] then
break
end
end
if #answers == count then
return count == 1 and answers[1] or answers
end`, numberPart1, lockPart2, termsPart1, holdersPart1, blockerPart1, strictPart1, passPart1, replyPart1, severalPart1, `local MANY = 100
local time = redis.call('TIME')
local function finish(first, values)
local id, about, how = values[1], values[2] or '', values[3] or ''
local client = string.match(id, '^[^:]+')
local lock, problem = open(time, first, id)
if problem == UNREADABLE and how == 'force' then
redis.call('DEL', KEYS[first])
lock, problem = open(time, first, id)
end
if problem then
return nil, problem
end
local answer, changed = 'none', false
if how == 'force' then
client = ''
table.remove(values, 3)
table.remove(values, 2)
for _, one in ipairs(values) do
local value = redis.call('HGET', lock.hash, 'h:' .. one)
if value then
drop(lock, one, value)
answer, changed = 'held', true
local owner, sequence = string.match(one, '^([^:-]+):(%d+)$')
if owner then
tell(lock, owner, 'lost ' .. sequence .. ' ' .. number(readHold(value).token) .. ' ' .. lock.hash)
end
end
end
else
local value = lock.held
local isFirst = value and how == 'leave' and lock.rest > 0
local rank = not value and about ~= '' and redis.call('ZRANK', lock.queue, id .. ':' .. about)
if isFirst then
answer = 'batch'
elseif value then
drop(lock, id, value)
answer, changed = 'held', true
local was = how == 'keep' and readHold(value)
local ends = was and math.ceil(was.token / 1000) + tonumber(values[4])
if was and ends > lock.now then
local kept = redis.call('HGET', lock.hash, 'h:-' .. id)
if kept then
drop(lock, '-' .. id, kept)
end
take(lock, was.terms)
setHold(lock, '-' .. id, ends, string.match(value, '^%d+ (.*)$'))
end
elseif rank then
redis.call('ZREM', lock.queue, id .. ':' .. about)
answer, changed = 'line ' .. rank + lock.rest, rank == 0
end
if answer == 'none' or answer == 'batch' then
redis.call('HDEL', lock.hash, '')
end
if how == 'mark' or how == 'leave' and values[4] == 'mark' then
redis.call('HSET', lock.hash, 'x:' .. id, lock.now + MARK)
lock.life = math.max(lock.life, MARK)
if redis.call('HLEN', lock.hash) > MANY then
lock.ends = math.min(lock.ends, lock.now)
end
end
end
expire(lock)
if changed or lock.used == 0 then
pass(lock, client)
end
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
return answerRest(answers, words, endUsual, finish)`] as const;

export const heartbeat = ['heartbeat', `redis.call('HDEL', KEYS[1], '')`, numberPart1, lockPart2, termsPart1, holdersPart1, heldPart1, strictPart1, linePart1, passPart1, replyPart1, `local function renew(lock, id, lease, present)
local value = redis.call('HGET', lock.hash, 'h:' .. id)
if not value then
return 'none'
end
local was = readHold(value)
if present ~= '' then
local rest = lock.token - string.match(present, '^%d+')
lock.rest = rest < MOST_TOGETHER and math.max(0, rest) or 0
value = number(was.ends) .. ' ' .. present
end
lease = lease or was.terms.fixed and 0 or LEASE
if lease == 0 and present == '' then
return describeHeld(lock, value)
end
local ends = math.max(was.ends, lease > 0 and lock.now + lease or 0)
setHold(lock, id, ends, string.match(value, '^%d+ (.*)$'))
if lock.mode == 'write' then
endFirst(lock, ends)
end
return 'held ' .. number(ends - lock.now) .. ' ' .. number(was.token)
end
local time = redis.call('TIME')
local client, at, replies = ARGV[1], 2, {}
local function beat(first)
local held, waiting = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
local from, to = at + 2, at + 1 + 3 * held
at = to + waiting + 1
local lock, problem = open(time, first)
if problem then
return problem
end
expire(lock)
local answers = {}
for i = from, to, 3 do
answers[#answers + 1] = renew(lock, ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2])
end
if waiting > 0 then
markAlive(lock, client)
keepLine(lock)
end
pass(lock, client)
if lock.moved then
flush(lock)
end
for i = to + 1, to + waiting do
local isInLine = redis.call('ZSCORE', lock.queue, ARGV[i])
local value = not isInLine and redis.call('HGET', lock.hash, 'h:' .. string.match(ARGV[i], '^[^:]+:%d+'))
answers[#answers + 1] = isInLine and 'line' or value and describeHeld(lock, value) or 'none'
end
close(lock)
return reply(lock, client, answers)
end
for i = 1, #KEYS, 3 do
replies[#replies + 1] = beat(i)
end
return replies`] as const;

export const inspect = ['inspect', numberPart1, lockPart2, `local most, lock, problem = ARGV[1], open(redis.call('TIME'), 1)
if problem then
return redis.error_reply(problem)
end
return {
number(lock.now), lock.mode or '', number(lock.used), lock.limit and number(lock.limit) or '',
redis.call('HSCAN', lock.hash, 0, 'MATCH', 'h:*', 'COUNT', most)[2],
redis.call('ZCARD', lock.queue) + lock.rest,
redis.call('ZRANGE', lock.queue, 0, most - 1, 'WITHSCORES'),
redis.call('ZRANGE', lock.clients, 0, most - 1, 'WITHSCORES'),
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

// Made from scripts/*.lua by `npm run lua`. Do not edit.

const lockPart1 = `local lock, queue, deadlines = KEYS[1], KEYS[2], KEYS[3]
local request, now = ARGV[1], tonumber(ARGV[2])
local parts = redis.call('TIME')
local time = parts[1] * 1000 + math.floor(parts[2] / 1000)
local holder = redis.call('HKEYS', lock)[1]
local KEPT = 'kept:'
local function holds()
return holder == request
end
local function free()
redis.call('DEL', lock)
holder = nil
end
local function dropStale()
while true do
local head = redis.call('LINDEX', queue, 0)
if not head then
return nil
end
local deadline = tonumber(redis.call('ZSCORE', deadlines, head) or 0)
if deadline > now then
return head, deadline
end
redis.call('LPOP', queue)
redis.call('ZREM', deadlines, head)
end
end
local function oneWaitLess(behind, wait, deadline)
local late = deadline and math.max(0, now + wait - deadline) or 0
for _, waiter in ipairs(behind) do
redis.call('ZADD', deadlines, 'XX', 'INCR', late - wait, waiter)
end
end
local function wake(head)
if head then
for command in string.gmatch(ARGV[4], '%a+') do
redis.pcall(command, ARGV[3] .. ':' .. head, '0')
end
end
end`;

export const acquire = ['acquire', lockPart1, `local wait, lease = tonumber(ARGV[5]), ARGV[6]
if time > tonumber(ARGV[9]) then
return { 'EXPIRED', time }
end
if holds() then
return { 'HELD', time, redis.call('PTTL', lock), redis.call('LLEN', queue) }
end
local head, headDeadline = dropStale()
if not holder and (not head or head == request) then
local behind = redis.call('ZRANGE', deadlines, 0, -1)
if head then
redis.call('LPOP', queue)
end
redis.call('HSET', lock, request, 1)
redis.call('PEXPIRE', lock, lease)
redis.call('ZREM', deadlines, request)
oneWaitLess(behind, wait, headDeadline)
return { 'HELD', time, tonumber(lease), redis.call('LLEN', queue) }
end
if not holder then
wake(head)
end
if ARGV[7] == 'try' then
return { 'BUSY', time, holder or head, redis.call('PTTL', lock) }
end
local left = redis.call('PTTL', lock)
local again = holder and left or headDeadline - now
local place = redis.call('LPOS', queue, request)
if place and redis.call('ZSCORE', deadlines, request) then
return { 'WAITS', time, place, 'kept', holder or '', again, head or request }
end
local length = redis.call('LLEN', queue)
if place then
length = length - redis.call('LREM', queue, 0, request)
elseif tonumber(ARGV[8]) >= 0 and length >= tonumber(ARGV[8]) then
return { 'FULL', time }
end
local last = redis.call('LINDEX', queue, -1)
local lastDeadline = last and redis.call('ZSCORE', deadlines, last)
local turn = lastDeadline and tonumber(lastDeadline) or left + now
redis.call('ZADD', deadlines, string.format('%.0f', turn + wait), request)
redis.call('RPUSH', queue, request)
return { 'WAITS', time, length, 'new', holder or '', again, head or request }`] as const;

export const forceRelease = ['forceRelease', lockPart1, `local held = holds()
if held then
free()
end
local head = dropStale()
if not holder then
wake(head)
end
return { held and 'FORCED' or 'FREE', time, head or '' }`] as const;

export const inspect = ['inspect', lockPart1, `local reply = { 'SHOWN', time, holder or '', redis.call('PTTL', lock), redis.call('LLEN', queue) }
for _, waiter in ipairs(redis.call('LRANGE', queue, 0, ARGV[5] - 1)) do
reply[#reply + 1] = waiter
reply[#reply + 1] = math.floor(tonumber(redis.call('ZSCORE', deadlines, waiter) or 0) - now)
end
return reply`] as const;

export const leave = ['leave', lockPart1, `local place = redis.call('LPOS', queue, request)
local behind = place and redis.call('LRANGE', queue, place + 1, -1) or {}
local deadline = place == 0 and redis.call('ZSCORE', deadlines, request)
redis.call('LREM', queue, 0, request)
redis.call('ZREM', deadlines, request)
oneWaitLess(behind, tonumber(ARGV[5]), deadline)
if holds() then
free()
end
local head
if not holder then
head = dropStale()
wake(head)
end
return { 'LEFT', time, head or '', holder or '', place or -1, redis.call('PTTL', lock) }`] as const;

export const release = ['release', lockPart1, `local keeper = KEPT .. request
if holder and not holds() and holder ~= keeper then
return { 'LOST', time, '' }
end
local keptFor = tonumber(ARGV[5]) - time
if holds() then
free()
if keptFor > 0 then
redis.call('HSET', lock, keeper, 1)
redis.call('PEXPIRE', lock, keptFor)
end
end
local head = dropStale()
wake(head)
return { 'RELEASED', time, head or '' }`] as const;

export const renew = ['renew', lockPart1, `if time > tonumber(ARGV[6]) then
return { 'EXPIRED', time }
end
if not holds() then
return { 'GONE', time }
end
redis.call('PEXPIRE', lock, ARGV[5])
return { 'RENEWED', time }`] as const;

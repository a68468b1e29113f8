// Made from scripts/*.lua by `npm run lua`. Do not edit.

const tryPart1 = `local function try(command)
local words = {}
for word in string.gmatch(command, '%S+') do
words[#words + 1] = word == 'KEY' and KEYS[1] or word
end
local reply = redis.pcall(unpack(words))
return type(reply) == 'table' and reply.err or nil
end
local function clearAway()
redis.pcall('PEXPIRE', KEYS[1], 1000)
redis.pcall('DEL', KEYS[1])
end`;

export const tryCommands = ['tryCommands', tryPart1, `local refused = {}
for _, command in ipairs(ARGV) do
local message = try(command)
if message and (string.find(message, 'ACL failure', 1, true)
or string.find(message, "can't", 1, true) and not string.find(message, 'READONLY', 1, true)
or string.find(message, 'NOPERM', 1, true) or string.find(message, 'nknown', 1, true)) then
refused[#refused + 1] = command
refused[#refused + 1] = message
end
end
clearAway()
return refused`] as const;

export const tryLock = ['tryLock', tryPart1, `local message
for _, command in ipairs(ARGV) do
message = message or try(command)
end
clearAway()
return message and redis.error_reply(message) or 1`] as const;

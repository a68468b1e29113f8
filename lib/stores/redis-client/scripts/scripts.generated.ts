// Made from scripts/*.lua by `npm run lua`. Do not edit.

export const tryCommands = ['tryCommands', `local refused = {}
for _, command in ipairs(ARGV) do
local words = {}
for word in string.gmatch(command, '%S+') do
words[#words + 1] = word == 'KEY' and KEYS[1] or word
end
local reply = redis.pcall(unpack(words))
local message = type(reply) == 'table' and reply.err
if message and (string.find(message, 'ACL failure', 1, true)
or string.find(message, "can't", 1, true) and not string.find(message, 'READONLY', 1, true)
or string.find(message, 'NOPERM', 1, true) or string.find(message, 'nknown', 1, true)) then
refused[#refused + 1] = command
refused[#refused + 1] = message
end
end
return refused`] as const;

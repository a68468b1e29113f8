// Made from scripts/*.lua by `npm run lua`. Do not edit.

export const tryCommands = {
  name: 'tryCommands',
  numberOfKeys: 1,
  sha1: 'b34d4eccfc04e3700121a27e2439cf16c369c312',
  lua: `local refused = {}
for _, command in ipairs(ARGV) do
local words = {}
for word in string.gmatch(command, '%S+') do
words[#words + 1] = word == 'KEY' and KEYS[1] or word
end
local reply = redis.pcall(unpack(words))
local message = type(reply) == 'table' and reply.err
if message and (string.find(message, "can't", 1, true) and not string.find(message, 'READONLY', 1, true)
or string.find(message, 'NOPERM', 1, true) or string.find(message, 'nknown', 1, true)) then
refused[#refused + 1] = command
refused[#refused + 1] = message
end
end
return refused`,
} as const;

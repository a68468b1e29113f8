-- Tries commands as a script of the lock would run them, so that a client can report missing rights when it starts.
--
-- KEYS  [1] a key that nothing else uses
-- ARGV  commands with their arguments, separated by spaces; KEY stands for the key
-- Returns { command, error, … } for each command that Redis rejects regardless of the data; other errors do not count
--- include: try
local refused = {}
for _, command in ipairs(ARGV) do
  local message = try(command)
  -- Up to 7.0: "can't run this command", "can't access at least one of the keys", "can't publish to the channel"; from 7.2
  -- on, and in Valkey: "ACL failure in script: …"; all: "Unknown command".
  if message and (string.find(message, 'ACL failure', 1, true)
    or string.find(message, "can't", 1, true) and not string.find(message, 'READONLY', 1, true)
    or string.find(message, 'NOPERM', 1, true) or string.find(message, 'nknown', 1, true)) then
    refused[#refused + 1] = command
    refused[#refused + 1] = message
  end
end
clearAway()
return refused

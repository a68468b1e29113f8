-- Takes a lock that nothing else uses and gives it back, with every command that the scripts of the store need: fails as they would.
--
-- KEYS  [1] a key that nothing else uses
-- ARGV  commands with their arguments, separated by spaces; KEY stands for the key. The first write is one that a full server rejects
-- Returns 1
-- Errors that of the first command that Redis rejects
--- include: try
local message
for _, command in ipairs(ARGV) do
  message = message or try(command)
end
clearAway()
return message and redis.error_reply(message) or 1

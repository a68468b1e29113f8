-- Runs a command as a script of the lock would, on the key of this call: the text of its error, or nil.
local function try(command)
  local words = {}
  for word in string.gmatch(command, '%S+') do
    words[#words + 1] = word == 'KEY' and KEYS[1] or word
  end
  local reply = redis.pcall(unpack(words))
  return type(reply) == 'table' and reply.err or nil
end

-- Leaves no data behind, also where a right is missing. Not before the first write: after one that is always allowed, a full server allows
-- the others too.
local function clearAway()
  redis.pcall('PEXPIRE', KEYS[1], 1000)
  redis.pcall('DEL', KEYS[1])
end

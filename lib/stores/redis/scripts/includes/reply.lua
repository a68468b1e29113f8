--- include: kept
-- A reply: { the token that was given last, when to ask again (ms; '' never), what this call granted to the caller, answer … }
-- When to ask again begins with '!' if the lock is free or not looked at to its end: then also a caller that waits for nothing asks.
-- What was granted: `<token> <ms of the lease> <sequence>,…`, '' if nothing was. Neighbours have tokens in a row.
local function reply(lock, client, answers)
  local gain = lock.granted[client]
  local granted = gain and gain.token .. ' ' .. number(gain.left) .. ' ' .. table.concat(gain, ',') or ''
  local again, urgent = math.huge, ''
  if lock.more then
    again, urgent = 0, '!'
  elseif lock.mayGrantAt and lock.mayGrantAt > lock.now then
    again = math.min(lock.mayGrantAt - lock.now, WINDOW)
  elseif lock.used > 0 and (not lock.isKept or headClient(lock) == client) then
    again = math.max(0, lock.ends - lock.now) + 1
  end
  if lock.hasDeaf and again > SILENCE then
    again, urgent = SILENCE + 1, lock.used == 0 and '!' or ''
  end
  local all = { lock.token == 0 and number(lock.micros) or lock.tokenText, again == math.huge and '' or urgent .. number(math.min(again, 2 ^ 53)), granted }
  for _, answer in ipairs(answers) do
    all[#all + 1] = answer
  end
  return all
end

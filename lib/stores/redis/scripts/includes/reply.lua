-- A reply: { the token that was given last, when to ask again (ms; '' never), what this call granted to the caller, answer … }
-- What was granted: `<token> <ms of the lease> <sequence>,…`, '' if nothing was. Exclusive grants have tokens in a row.
local function reply(lock, client, answers)
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
end

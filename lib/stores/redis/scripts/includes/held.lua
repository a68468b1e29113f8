-- The answer for a request that holds the lock.
local function describeHeld(lock, value)
  local was = readHold(value)
  -- A script that was stopped may have written it without its time to live.
  lock.life = math.max(lock.life, was.ends - lock.now)
  return 'held ' .. number(math.max(0, was.ends - lock.now)) .. ' ' .. number(was.token)
end

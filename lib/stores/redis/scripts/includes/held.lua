-- The answer for a request that holds the lock.
local function describeHeld(lock, value)
  local was = readHold(value)
  return 'held ' .. number(math.max(0, was.ends - lock.now)) .. ' ' .. number(was.token)
end

-- What blocks a request, for people: label of a holder, held for ms, ms for which the lock is kept, if it is.
local function whoHolds()
  local isBusy = held or used > 0
  return isBusy and label or '', isBusy and now - since or 0, keptFor()
end

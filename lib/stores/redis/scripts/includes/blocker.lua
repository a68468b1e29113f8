-- What blocks the lock: `<used> <limit or -> <held for ms> <kept for ms> <who>`, by the hold that has lasted longest, of the first MOST_NAMED
-- that Redis shows; empty if nothing does.
local MOST_NAMED = 32
local function blocker(lock)
  if lock.used == 0 then
    return ''
  end
  flush(lock)
  local longest, who, kept, keeper, count = nil, '', 0, '', 0
  eachHold(lock, MOST_NAMED, function(id, value)
    local was, label = readHold(value), string.match(value, '^[^:]*:(.*)$') or ''
    if string.sub(id, 1, 1) == '-' then
      if was.ends - lock.now > kept then
        kept, keeper = was.ends - lock.now, label
      end
    elseif not longest or was.token < longest then
      longest, who = was.token, label
    end
    count = count + 1
    return count == MOST_NAMED
  end)
  local limit = smallestLimit(lock)
  local heldFor = longest and math.max(0, lock.now - math.floor(longest / 1000)) or 0
  return number(lock.used) .. ' ' .. (limit and number(limit) or '-') .. ' ' .. number(heldFor) .. ' '
    .. (longest and 0 or number(kept)) .. ' ' .. (longest and who or keeper)
end

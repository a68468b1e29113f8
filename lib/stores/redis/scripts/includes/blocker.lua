-- What blocks the lock: `<used> <limit or -> <held for ms> <kept for ms> <who>`, by the hold that has lasted longest, of about MOST_NAMED
-- that Redis shows first; empty if nothing does.
local MOST_NAMED = 32
local function blocker(lock)
  if lock.used == 0 then
    return ''
  end
  flush(lock)
  local longest, who, kept, keeper, cursor = nil, '', 0, '', '0'
  repeat
    local page = redis.call('HSCAN', lock.hash, cursor, 'MATCH', 'h:*', 'COUNT', MOST_NAMED)
    for i = 1, #page[2], 2 do
      local was, label = readHold(page[2][i + 1]), string.match(page[2][i + 1], '^[^:]*:(.*)$') or ''
      if string.byte(page[2][i], 3) == 45 then
        if was.ends - lock.now > kept then
          kept, keeper = was.ends - lock.now, label
        end
      elseif not longest or was.token < longest then
        longest, who = was.token, label
      end
    end
    cursor = page[1]
  until longest or kept > 0 or cursor == '0'
  local limit = smallestLimit(lock)
  local heldFor = longest and math.max(0, lock.now - math.floor(longest / 1000)) or 0
  return number(lock.used) .. ' ' .. (limit and number(limit) or '-') .. ' ' .. number(heldFor) .. ' '
    .. (longest and 0 or number(kept)) .. ' ' .. (longest and who or keeper)
end

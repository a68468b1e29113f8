-- What blocks the lock: `<used> <limit or -> <held for ms> <kept for ms> <who>`, by the hold that has lasted longest; empty if nothing does.
local function blocker(lock)
  if lock.used == 0 then
    return ''
  end
  flush(lock)
  local page, longest, who, kept, keeper = redis.call('HSCAN', lock.hash, 0, 'MATCH', 'h:*', 'COUNT', MOST_HOLDERS)[2], nil, '', 0, ''
  for i = 1, #page, 2 do
    local was, label = readHold(page[i + 1]), string.match(page[i + 1], '^[^:]*:(.*)$') or ''
    if string.sub(page[i], 3, 3) == '-' then
      if was.ends - lock.now > kept then
        kept, keeper = was.ends - lock.now, label
      end
    elseif not longest or was.token < longest then
      longest, who = was.token, label
    end
  end
  local heldFor = longest and math.max(0, lock.now - math.floor(longest / 1000)) or 0
  return number(lock.used) .. ' ' .. (lock.limit and number(lock.limit) or '-') .. ' ' .. number(heldFor) .. ' '
    .. (longest and 0 or number(kept)) .. ' ' .. (longest and who or keeper)
end

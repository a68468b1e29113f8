-- How many holds have each number of permits, as `<permits>*<holds>,…` in the state. While a hold lasts no more than its own permits are
-- taken, so the smallest counts.

local function readLimits(text)
  local limits = {}
  for limit, count in string.gmatch(text, '(%d+)%*(%d+)') do
    limits[tonumber(limit)] = tonumber(count)
  end
  return limits
end

local function limitsText(limits)
  if not next(limits) then
    return '-'
  end
  local parts = {}
  for limit, count in pairs(limits) do
    parts[#parts + 1] = number(limit) .. '*' .. number(count)
  end
  -- In one order, or an unchanged state would be written again.
  table.sort(parts)
  return table.concat(parts, ',')
end

-- One hold more, or with -1 one less, has `limit`; nil: it has none.
local function countLimit(lock, limit, by)
  if limit then
    local count = (lock.limits[limit] or 0) + by
    lock.limits[limit] = count > 0 and count or nil
    lock.limit = count > 0 and lock.limit and math.min(limit, lock.limit) or nil
  end
end

-- The smallest limit of those that hold, or nil.
local function smallestLimit(lock)
  if not lock.limit then
    for limit in pairs(lock.limits) do
      lock.limit = math.min(limit, lock.limit or limit)
    end
  end
  return lock.limit
end

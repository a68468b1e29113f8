-- The terms of a request, and who is admitted.
--
-- Terms are the third part of a name: '' or flags behind each other: r (reads), p<weight>/<limit> (takes permits), f<ms> (its lease is
-- fixed), a (alone: shares no row), u (its client listens where the server cannot count it).
local PLAIN = { mode = 'write', weight = 1, isPlain = true }

local function readTerms(text)
  if text == '' then
    return PLAIN
  end
  local weight, limit = string.match(text, '^p(%d+)/(%d+)')
  return {
    mode = weight and 'permits' or string.sub(text, 1, 1) == 'r' and 'read' or 'write',
    weight = tonumber(weight) or 1,
    limit = tonumber(limit),
    fixed = tonumber(string.match(text, 'f(%d+)') or nil),
    isPlain = text == 'u',
    isUncounted = string.sub(text, -1) == 'u',
  }
end

-- What is held admits an exclusive request if it is nothing, a read beside reads, and permits that fit into their own limit and those of all
-- that hold.
local function admits(lock, terms)
  if lock.used == 0 or terms.mode == 'write' then
    return lock.used == 0
  end
  return terms.mode == lock.mode
    and (lock.mode == 'read' or lock.used + terms.weight <= math.min(terms.limit, smallestLimit(lock) or terms.limit))
end

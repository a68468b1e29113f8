-- Decides whether a script has to mark its caller alive again, or can leave the record and the deadline as they are.

-- A deadline with more than this share of the window left is not set again, unless the window is longer than RETENTION.
local FRESH = 0.9
-- How long a subscription that broke may take to come back before its client counts as dead, ms.
local GRACE = 250

-- `left`: for how many ms from now the caller counts as alive.
local function isFresh(left)
  return left >= FRESH * WINDOW and left <= WINDOW and WINDOW <= RETENTION
end

-- Whether two times since when a client is subscribed (ms) are of the same subscription: they come from different clocks.
local function isSameTime(one, other)
  return math.abs(one - other) <= GRACE / 2
end

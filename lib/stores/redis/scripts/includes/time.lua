-- The time of a script.
--- include: lock

-- A script reads the time once (R1). Short cuts use it as text (µs in 16 digits, ms in 13), because conversions are expensive.
local time = redis.call('TIME')
local stamp = time[1] .. (#time[2] == 6 and time[2] or string.sub('00000' .. time[2], -6))
local stampMs = string.sub(stamp, 1, 13)

-- The time of a script.
--- include: lock

-- R1: the time is taken once. Short cuts keep and compare it as text, µs in 16 digits and ms in 13: conversions are expensive.
local time = redis.call('TIME')
local stamp = time[1] .. (#time[2] == 6 and time[2] or string.sub('00000' .. time[2], -6))
local stampMs = string.sub(stamp, 1, 13)

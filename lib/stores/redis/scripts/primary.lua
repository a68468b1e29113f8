-- Reads the marker of strict mode. Every client calls this when it has connected (docs/replication.md).
--
-- KEYS  [1] marker
-- ARGV  [1] the longest lease of strict clients, ms; '' if the caller is not strict
-- Returns { status, time in ms, a }:
--       to a client that is not strict:
--       FREE     no strict client has used this server
--       STRICT   a strict client has used it
--       to a strict client:
--       GRANTS   this server may grant
--       WAITS    it may not grant yet: a = for how many ms
--       UNKNOWN  the script cannot tell which server this is, so nothing is granted
-- Errors the error of Redis when a strict client cannot read or write the marker: nothing is granted until it can
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local marker, STRICT = KEYS[1], tonumber(ARGV[1])
if not STRICT then
  return { redis.call('HGET', marker, 'id') and 'STRICT' or 'FREE', now }
end
--- include: primary
local may = mayGrant()
if trouble then
  return type(trouble) == 'table' and trouble or { 'UNKNOWN', now }
end
redis.call('PEXPIRE', marker, markerLife(tonumber(redis.call('HGET', marker, 'lease'))))
return { may and 'GRANTS' or 'WAITS', now, may and 0 or grantableAt - now }

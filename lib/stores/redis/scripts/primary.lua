-- Looks at the marker of strict mode, as every client does when it has connected (docs/replication.md).
--
-- KEYS  [1] marker
-- ARGV  [1] the longest lease of strict clients, ms; '' if the caller is not strict
-- Returns { status, time in ms, a }:
--       FREE     no strict client was here: to clients that are not strict
--       STRICT   there was one: to the same
--       GRANTS   this server may grant: to strict clients
--       WAITS    it may not yet: a = for how many ms
--       UNKNOWN  it cannot tell which server it is: it grants nothing to strict clients
-- Errors what a strict client's writing of the marker met: until it is kept, nothing is granted
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

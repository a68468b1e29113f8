-- Reads the marker of strict mode. Every client calls this when it has connected (docs/internals/replication.md).
--
-- KEYS  [1] marker
-- GIVEN  STRICT
-- Returns { status, a }:
--       to a client that is not strict:
--       FREE     no strict client has used this server
--       STRICT   a strict client has used it
--       to a strict client:
--       GRANTS   this server may grant
--       WAITS    it may not grant yet: a = for how many ms
--       UNKNOWN  the script cannot tell which server this is, so nothing is granted
-- Errors the error of Redis when a strict client cannot read or write the marker: nothing is granted until it can
--- include: clock
--- include: number
--- include: strict
local marker = KEYS[1]
if not STRICT then
  return { redis.call('HGET', marker, 'id') and 'STRICT' or 'FREE' }
end
local at, trouble = grantableAt(marker, now)
if trouble then
  return type(trouble) == 'table' and trouble or { 'UNKNOWN' }
end
redis.call('PEXPIRE', marker, markerLife(tonumber(redis.call('HGET', marker, 'lease'))))
return now >= at and { 'GRANTS' } or { 'WAITS', at - now }

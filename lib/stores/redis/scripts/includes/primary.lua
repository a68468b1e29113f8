-- Strict mode (docs/replication.md): decides whether this server may grant the lock and pass it on yet.
--
-- A script without the include `changes` must first set: now; STRICT, the longest lease of strict clients in ms, nil if the caller
-- is not strict; marker, the key of the marker. The marker is a hash: id (run id of the server that may grant), before (the
-- replication id of the history that it took over at its last promotion, '' if none), since (when a client first saw it as
-- primary, ms by its clock), lease (the largest STRICT of all clients).

-- The shortest time to live of the marker, ms. Strict clients renew it.
local MARKER_LIFE = 3600000

-- The marker must outlive the longest lease, but Redis refuses a time to live that is too large.
local function markerLife(lease)
  return math.min(math.max(MARKER_LIFE, 10 * lease), 2 ^ 53)
end

-- grantableAt: from when on this server may grant (ms, math.huge: unknown). trouble: why that is unknown.
local grantableAt, trouble

local function mayGrant()
  if not STRICT or grantableAt then
    return not STRICT or now >= grantableAt
  end
  grantableAt = math.huge
  local info, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  local id = type(info) == 'string' and string.match(info, 'run_id:(%w+)')
  -- An id of zeros means that the server took over no history. An hour after its last replica has left, a server forgets this id
  -- (repl-backlog-ttl).
  local before = type(replication) == 'string' and string.match(replication, 'master_replid2:(0*[1-9a-f]%x*)') or ''
  local known = redis.pcall('HGET', marker, 'id')
  if not id or type(known) == 'table' then
    trouble = not id and info or known
    return false
  end
  local since, longest = redis.call('HGET', marker, 'since'), redis.call('HGET', marker, 'lease')
  local lease = math.max(STRICT, tonumber(longest) or 0)
  local isNew = known ~= id or not tonumber(since) or before ~= '' and before ~= redis.call('HGET', marker, 'before')
  if isNew then
    -- The server has just become primary (again), or has lost its data: it may not know every holder.
    since = now
  end
  if isNew or longest ~= string.format('%.0f', lease) then
    local written = redis.pcall('HSET', marker, 'id', id, 'before', before, 'since', since, 'lease', lease)
    if type(written) == 'table' then
      trouble = written
      return false
    end
    redis.call('PEXPIRE', marker, markerLife(lease))
  end
  grantableAt = since + lease
  return now >= grantableAt
end

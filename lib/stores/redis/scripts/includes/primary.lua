-- Strict mode (docs/replication.md): whether this very server may grant and pass on yet.
--
-- Where a script does not begin with the include `changes` it sets before: now; STRICT, the longest lease of strict clients in ms, nil
-- if the caller is not strict; marker, the key of the marker. The marker is a hash: id (run id of the server that may grant), before
-- (the history that it took over at its last promotion, '' if none), since (its ms), lease (the largest STRICT of all).

-- How long the marker lives at least, ms: strict clients renew it.
local MARKER_LIFE = 3600000

-- The marker outlives the longest lease, however long: Redis refuses a time to live that no longer fits a whole number.
local function markerLife(lease)
  return math.min(math.max(MARKER_LIFE, 10 * lease), 2 ^ 53)
end

-- From when on this server may grant (ms, math.huge: unknown); what went wrong in looking.
local grantableAt, trouble

local function mayGrant()
  if not STRICT or grantableAt then
    return not STRICT or now >= grantableAt
  end
  grantableAt = math.huge
  local info, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  local id = type(info) == 'string' and string.match(info, 'run_id:(%w+)')
  -- Zeros: it took over none. An hour after its last replica has left, a server forgets which (repl-backlog-ttl).
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
    -- A new primary, also one that was primary before, or one that lost its data: it may not know of every holder.
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

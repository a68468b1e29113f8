-- Strict mode (docs/internals/replication.md): whether this server may grant yet.
--
-- The marker, `<prefix>primary`, is a hash: id (run id of the server that may grant), before (the replication id of the history that it
-- took over when it was promoted last, '' if none), since (when a client first saw it as primary, ms by its clock), lease (the largest
-- STRICT of all clients).

local markerLife, grantableAt
if STRICT then
  -- The shortest time to live of the marker, ms. Strict clients renew it.
  local MARKER_LIFE = 3600000

  -- The marker must outlive the longest lease, but Redis refuses a time to live that is too large.
  function markerLife(lease)
    return number(math.min(math.max(MARKER_LIFE, 10 * lease), 2 ^ 53))
  end

  -- From when on this server may grant, ms; math.huge and the error of Redis (or 'unknown') if that cannot be told.
  function grantableAt(marker, now)
    local info, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
    local id = type(info) == 'string' and string.match(info, 'run_id:(%w+)')
    -- An id of zeros means that the server took over no history. An hour after its last replica has left, a server forgets this id
    -- (repl-backlog-ttl).
    local before = type(replication) == 'string' and string.match(replication, 'master_replid2:(0*[1-9a-f]%x*)') or ''
    local known = redis.pcall('HGET', marker, 'id')
    if not id then
      return math.huge, type(info) == 'table' and info or 'unknown'
    elseif type(known) == 'table' then
      return math.huge, known
    end
    local since, longest = tonumber(redis.call('HGET', marker, 'since') or nil), redis.call('HGET', marker, 'lease')
    local lease = math.max(STRICT, tonumber(longest) or 0)
    local isNew = known ~= id or not since or before ~= '' and before ~= redis.call('HGET', marker, 'before')
    if isNew then
      -- The server has just become primary (again), or has lost its data: it may not know every holder.
      since = now
    end
    if isNew or longest ~= number(lease) then
      local written = redis.pcall('HSET', marker, 'id', id, 'before', before, 'since', number(since), 'lease', number(lease))
      if type(written) == 'table' and written.err then
        return math.huge, written
      end
      redis.call('PEXPIRE', marker, markerLife(lease))
    end
    return since + lease
  end
end

local function mayGrant(lock)
  if not STRICT then
    return true
  end
  lock.mayGrantAt = lock.mayGrantAt or grantableAt(string.match(lock.hash, '^[^{]*') .. 'primary', lock.now)
  return lock.now >= lock.mayGrantAt
end

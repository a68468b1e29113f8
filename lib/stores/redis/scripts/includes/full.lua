-- For the short cuts of a lock whose permits are all taken while requests wait (acquire-shared, release-shared): reads it.
--- include: lock
--- include: time
--- include: numbers
-- Returns the sum of its weights and its limit, the first and last end of its leases (ms), the record of the caller's shared holds, the
-- record of the caller, and the last token; nothing if the lock is not such a one, a lease is over, some weight is kept, or the clock is behind
-- the last token or ticket.
local function readFull()
  local format, state, mode, used, limit, firstEnd, lastEnd, kept, lastToken, lastTicket, own, record =
    unpack(redis.call('HMGET', hash, 'format', 'state', 'mode', 'used', 'limit', 'first-end', 'last-end', 'kept', 'last-token',
      'last-ticket', 'held:' .. client, 'client:' .. client))
  if format ~= KINDS or state ~= 'shared+kinds' or mode ~= 'permits' or kept or #(firstEnd or '') ~= 13 or firstEnd <= stampMs
    or #(lastToken or '') ~= 16 or lastToken >= stamp or #(lastTicket or '') ~= 16 or lastTicket >= stamp then
    return nil
  end
  used, limit, firstEnd, lastEnd = tonumber(used or nil), tonumber(limit or nil), tonumber(firstEnd), tonumber(lastEnd or nil)
  if used and limit and lastEnd and used >= limit then
    return used, limit, firstEnd, lastEnd, own, record, tonumber(lastToken)
  end
end

-- Ends a grant and wakes the head of the queue. Repeating it is harmless, since no request holds twice; carries no
-- deadline (R2), and works when memory is full (R3).
--
-- KEYS  [1] lock  [2] queue  [3] deadlines
-- ARGV  [1] request  [2] client clock  [3] channel  [4] publish
-- Returns status, Redis time, the head that was woken or ''
--       RELEASED  the grant is over, since this call or an earlier one
--       LOST      the lock has another holder; the script only dropped dead heads
--- include: lock
if holder and not holds() then
  return { 'LOST', time, '' }
end
free()
local head = dropStale()
wake(head)
return { 'RELEASED', time, head or '' }

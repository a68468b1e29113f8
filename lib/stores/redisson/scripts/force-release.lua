-- Ends a grant of any client and wakes the head of the queue. The caller names the grant, so a repeated call cannot end another.
--
-- KEYS  [1] lock  [2] queue  [3] deadlines
-- ARGV  [1] the holder of that grant, '' if there is none  [2] client clock  [3] channel  [4] publish
-- Returns status, Redis time, the head that was woken or ''
--       FORCED  the grant has ended
--       FREE    it had already ended
--- include: lock
local held = holds()
if held then
  free()
end
local head = dropStale()
if not holder then
  wake(head)
end
return { held and 'FORCED' or 'FREE', time, head or '' }

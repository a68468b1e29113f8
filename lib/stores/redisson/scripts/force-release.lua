-- Ends the present grant, whoever has it, and wakes the head of the queue.
--
-- KEYS  [1] lock  [2] queue  [3] deadlines
-- ARGV  [1] nobody: ''  [2] client clock  [3] channel  [4] publish
-- Returns status, Redis time, the head that was woken or '', who held
--       FORCED  somebody held it
--       FREE    nobody did
--- include: lock
local held = holder
free()
local head = dropStale()
wake(head)
return { held and 'FORCED' or 'FREE', time, head or '', held or '' }

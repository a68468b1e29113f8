-- The usual case comes before anything else is defined, which costs more than to serve it. `usual` answers for the lock whose keys begin at
-- KEYS[first], by how many words it has, the first two and the fourth of them, or returns nil. The first locks that are usual have their `answers`
-- then; if all are, these are the result.
local count, answers = #KEYS / 3, {}
local words = #ARGV / count
for i = 1, count do
  local at = (i - 1) * words
  answers[i] = usual(3 * i - 2, words, ARGV[at + 1], ARGV[at + 2], ARGV[at + 4])
  if not answers[i] then
    break
  end
end
if #answers == count then
  return count == 1 and answers[1] or answers
end

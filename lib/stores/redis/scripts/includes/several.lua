-- A call for several locks: three keys and as many words in ARGV for each.

-- The result of the script. The first locks have their `answers`. `usual` answers for each of the others, or returns nil; then `full` does, or
-- returns nil and the text of an error.
local function answerRest(answers, words, usual, full)
  local count = #KEYS / 3
  if count == 1 then
    local answer, problem = full(1, ARGV)
    return answer or redis.error_reply(problem)
  end
  for i = #answers + 1, count do
    local values = { unpack(ARGV, words * (i - 1) + 1, words * i) }
    local answer, problem = usual(3 * i - 2, values[1], values[2]), nil
    if not answer then
      answer, problem = full(3 * i - 2, values)
    end
    answers[i] = answer or problem
  end
  return answers
end

-- A call for several locks: three keys for each, and as many values of ARGV for each.

-- The result of the script. The first locks have their `answers`. `usual` answers for each of the others, or returns nil; then `full` does, or
-- returns nil and the text of an error.
local function answerRest(answers, usual, full)
  local count = #KEYS / 3
  if count == 1 then
    local answer, problem = full(1, ARGV)
    return answer or redis.error_reply(problem)
  end
  local words = #ARGV / count
  for i = #answers + 1, count do
    local values, answer, problem = { unpack(ARGV, (i - 1) * words + 1, i * words) }, nil, nil
    answer = usual and usual(3 * i - 2, words, values[1], values[2], values[4])
    if not answer then
      answer, problem = full(3 * i - 2, values)
    end
    answers[i] = answer or problem
  end
  return answers
end

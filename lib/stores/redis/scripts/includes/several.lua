-- A call for several locks: three keys for each, and in ARGV first how many words each has, then these words.

-- The result of the script. The first locks have their `answers`. `usual` answers for each of the others, or returns nil; then `full` does, or
-- returns nil and the text of an error.
local function answerRest(answers, usual, full)
  local count = #KEYS / 3
  if count == 1 then
    local answer, problem = full(1, ARGV)
    return answer or redis.error_reply(problem)
  end
  local at = count
  for i = 1, count do
    local words = tonumber(ARGV[i])
    if not answers[i] then
      local values, answer, problem = {}, nil, nil
      for j = 1, words do
        values[j] = ARGV[at + j]
      end
      answer = usual and usual(3 * i - 2, words, values[1], values[2])
      if not answer then
        answer, problem = full(3 * i - 2, values)
      end
      answers[i] = answer or problem
    end
    at = at + words
  end
  return answers
end

-- Every number that is kept as text: Lua would write a large one with an exponent.
local function number(value)
  return string.format('%.0f', value)
end

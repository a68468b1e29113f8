-- Lua's own conversion would write a time in µs as 1.7952544115099e+15.
local function int(number)
  return string.format('%.0f', number)
end

-- A whole number as text. Lua writes one of more than 14 digits with an exponent; `string.format` costs 1 µs.
local function number(value)
  return value < 1e14 and value .. '' or string.format('%.0f', value)
end

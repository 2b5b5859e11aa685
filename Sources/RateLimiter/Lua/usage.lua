-- How many slots each key has used.
-- KEYS any number of slot keys     Returns a number for each.
-- include: part-count.lua
local results = {}
for index, key in ipairs(KEYS) do results[index] = used(key) end
return results

-- Gives slots back by message id. A slot that was never taken, or given back before, is no error.
-- KEYS for each message: key of the category | key over all categories     ARGV for each: message id
-- Returns for each: 1 given back, 0 nothing was taken.
local results = {}
for index, message in ipairs(ARGV) do
  for offset = 1, 0, -1 do
    local removed = redis.pcall('HDEL', KEYS[index * 2 - offset], message)
    -- A key of another type holds no message ids. Any other error means that nothing was freed, such as on a replica.
    if type(removed) == 'table' and not string.find(removed.err, 'WRONGTYPE', 1, true) then return removed end
    if offset == 1 then results[index] = removed == 1 and 1 or 0 end
  end
end
return results

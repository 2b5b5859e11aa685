-- Gives slots back by message id. A slot that was never taken, or given back before, is no error.
-- KEYS for each message: key of the category | key over all categories     ARGV for each: message id
-- Returns for each: 1 given back, 0 nothing was taken.
local results = {}
for index, message in ipairs(ARGV) do
  -- A key of another type holds no message ids; the error is the answer.
  local removed = redis.pcall('HDEL', KEYS[index * 2 - 1], message)
  redis.pcall('HDEL', KEYS[index * 2], message)
  results[index] = removed == 1 and 1 or 0
end
return results

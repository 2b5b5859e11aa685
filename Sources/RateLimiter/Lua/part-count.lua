-- How many slots of a key are used, and what the key is. A slot key is a small hash, message id -> time it was taken.
-- Another system may have left a plain counter under the same name: it counts as its number and is never an error.
local function used(key)
  local count = redis.pcall('HLEN', key)
  if type(count) == 'number' then return count, 'hash' end
  if redis.call('TYPE', key).ok == 'string' then
    local number = tonumber(redis.call('GET', key))
    -- Not a number, or one that no cap could have meant.
    if not number or number ~= number then return 0, 'counter' end
    return math.max(0, math.min(math.floor(number), 1000)), 'counter'
  end
  return 0, 'foreign'
end

-- The active jobs that one worker locked.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 what all tokens of that worker begin with
-- Returns a flat list of id, token. Writes nothing.
-- include: part-keys.lua
local base = ARGV[3]
local result = {}
local active = call('LRANGE', K.active, 0, -1)
for first = 1, #active, 1000 do
  local locks = {}
  for index = first, math.min(first + 999, #active) do locks[#locks + 1] = P .. active[index] .. ':lock' end
  local held = call('MGET', unpack(locks))
  for offset = 1, #locks do
    local token = held[offset]
    if token and string.sub(token, 1, #base) == base then
      result[#result + 1] = active[first + offset - 1]
      result[#result + 1] = token
    end
  end
end
return result

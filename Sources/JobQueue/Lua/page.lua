-- Some jobs of one state.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 state: a key of the queue | 4 first | 5 last, both from 0 | 6 '1' for the oldest first, '0' for the newest
-- Returns a flat list of id and the fields of its hash; an id without a job has no fields.
-- include: part-keys.lua
local key, first, last, oldest = P .. ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1'
local ids
if ARGV[3] == 'wait' or ARGV[3] == 'paused' or ARGV[3] == 'active' then
  -- The oldest stand at the right end.
  if oldest then
    local right = call('LRANGE', key, -(last + 1), -(first + 1))
    ids = {}
    for index = #right, 1, -1 do ids[#ids + 1] = right[index] end
  else
    ids = call('LRANGE', key, first, last)
  end
else
  ids = call(oldest and 'ZRANGE' or 'ZREVRANGE', key, first, last)
end
local result = {}
for _, id in ipairs(ids) do
  result[#result + 1] = id
  result[#result + 1] = call('HGETALL', P .. id)
end
return result

-- Takes a slot for each message, in order, in its category's key and in the key over all categories: both or neither.
-- KEYS for each message: key of the category | key over all categories
-- ARGV 1 now in ms | 2 time to live in ms | 3 '1' to take above the caps, else '0' | then for each message:
--   message id | cap of the category | cap over all categories ('' = does not count there)
-- Returns for each: 0 taken, 1 was taken before, 2 category full, 3 full over all categories.
-- Invariants: a message id is counted once however often it is asked for; a refusal changes nothing.
-- include: part-count.lua
-- A plain counter becomes a hash with as many fields, so that its number still counts and message ids find a place.
local function write(key, kind, count, message)
  if kind == 'foreign' then return end
  if kind == 'counter' then
    redis.call('DEL', key)
    for number = 1, count do redis.call('HSET', key, 'counter:' .. number, ARGV[1]) end
  end
  redis.call('HSET', key, message, ARGV[1])
  redis.call('PEXPIRE', key, ARGV[2])
end

local results = {}
for index = 1, #KEYS / 2 do
  local at = 4 + (index - 1) * 3
  local message, cap, overall = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local key, overallKey = KEYS[index * 2 - 1], KEYS[index * 2]
  local count, kind = used(key)
  local overallCount, overallKind = 0, 'hash'
  if overall then overallCount, overallKind = used(overallKey) end
  if kind == 'hash' and count > 0 and redis.call('HEXISTS', key, message) == 1 then
    results[index] = 1
  elseif ARGV[3] ~= '1' and count >= cap then
    results[index] = 2
  elseif ARGV[3] ~= '1' and overall and overallCount >= overall then
    results[index] = 3
  else
    write(key, kind, count, message)
    if overall then write(overallKey, overallKind, overallCount, message) end
    results[index] = 0
  end
end
return results

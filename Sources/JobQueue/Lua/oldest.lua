-- The next job of each class: of `wait` and of each priority, at most 16.
-- KEYS and ARGV 1, 2: see part-keys
-- Returns a flat list of priority (0 for `wait`), timestamp, opts.
-- include: part-keys.lua
local result = {}
local function append(priority, id)
  local fields = call('HMGET', P .. id, 'timestamp', 'opts')
  result[#result + 1] = priority
  result[#result + 1] = fields[1] or ''
  result[#result + 1] = fields[2] or ''
end
local waiting = call('LINDEX', K.wait, -1)
if waiting then append(0, waiting) end
local from = 0
for _ = 1, 16 do
  local first = call('ZRANGEBYSCORE', K.prioritized, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if #first == 0 then break end
  local priority = math.floor(tonumber(first[2]) / 4294967296)
  append(priority, first[1])
  from = (priority + 1) * 4294967296
end
return result

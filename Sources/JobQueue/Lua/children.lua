-- What a parent knows of its children.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 id of the parent
-- Returns {pending keys, key and returnvalue of the completed, key and reason of those that failed and were passed over,
--   keys of those that made the parent fail}; nil when there is no such parent.
-- include: part-keys.lua
local key = P .. ARGV[3]
if call('EXISTS', key) == 0 then return false end
return {
  call('SMEMBERS', key .. ':dependencies'), call('HGETALL', key .. ':processed'), call('HGETALL', key .. ':failed'),
  call('ZRANGE', key .. ':unsuccessful', 0, -1),
}

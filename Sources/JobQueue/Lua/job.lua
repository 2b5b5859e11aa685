-- One job for people to look at.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 id
-- Returns {state, all fields of the hash}; nil when there is no such job.
-- include: part-keys.lua
-- include: part-locate.lua
local fields = call('HGETALL', P .. ARGV[3])
if #fields == 0 then return false end
return {locate(ARGV[3]), fields}

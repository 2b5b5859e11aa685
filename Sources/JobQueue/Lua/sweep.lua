-- Removes finished jobs beyond what is kept, a bounded number a call: also when no job ends any more.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 'completed' or 'failed' | 4 how many are kept, -1 for all | 5 their age in s, 0 for any | 6 at most so many
-- Returns how many were removed. Invariants: exactly the jobs whose entries go; the oldest go first.
-- include: part-keys.lua
-- include: part-removal.lua
local set, kept, age, most = K[ARGV[3]], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local old = {}
if age > 0 then old = call('ZRANGEBYSCORE', set, '-inf', now - age * 1000, 'LIMIT', 0, most) end
local excess = kept < 0 and 0 or math.min(call('ZCARD', set) - kept, most)
if excess > #old then old = call('ZRANGE', set, 0, excess - 1) end
if #old > 0 then
  inChunks('ZREM', set, old)
  forget(P, old)
end
return #old

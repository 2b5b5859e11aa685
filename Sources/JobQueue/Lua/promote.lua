-- Makes delayed jobs ready before their time: one, or the next ones.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 id ('' for the next ones) | 4 at most so many
-- Returns how many left `delayed`; for one job 1, 0 no such job, -3 not delayed.
-- Invariants: nothing is written for a job that is not delayed; its priority holds.
-- include: part-keys.lua
-- include: part-place.lua
-- include: part-again.lua
if ARGV[3] ~= '' then
  if call('EXISTS', P .. ARGV[3]) == 0 then return 0 end
  if not call('ZSCORE', K.delayed, ARGV[3]) then return -3 end
  promoteNow(ARGV[3])
  trimIn(P)
  return 1
end
local ids = call('ZRANGE', K.delayed, 0, tonumber(ARGV[4]) - 1)
for _, id in ipairs(ids) do
  if call('EXISTS', P .. id) == 1 then promoteNow(id) else call('ZREM', K.delayed, id) end
end
if #ids > 0 then trimIn(P) end
return #ids

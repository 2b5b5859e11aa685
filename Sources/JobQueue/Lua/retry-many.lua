-- Runs finished jobs again, the oldest first.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 'failed' or 'completed' | 4 finished at or before, in ms | 5 at most so many | 6 forget the attempts made 0/1
-- Returns how many ids left the state. Invariants: ids without a job are dropped, not made again.
-- include: part-keys.lua
-- include: part-failure.lua
-- include: part-place.lua
-- include: part-again.lua
local state = ARGV[3]
local ids = call('ZRANGEBYSCORE', K[state], '-inf', ARGV[4], 'LIMIT', 0, ARGV[5])
for _, id in ipairs(ids) do
  if call('EXISTS', P .. id) == 1 then
    runAgain(id, state, ARGV[6] == '1', false)
  else
    call('ZREM', K[state], id)
  end
end
if #ids > 0 then trimIn(P) end
return #ids

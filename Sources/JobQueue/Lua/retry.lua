-- Runs one finished job again.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 id | 4 forget the attempts made 0/1 | 5 forget the starts 0/1
-- Returns 1 back in the queue, 0 no such job, -3 neither completed nor failed.
-- Invariants: nothing is written unless the job goes back; the job of a flow is waited for by its parent again.
-- include: part-keys.lua
-- include: part-failure.lua
-- include: part-place.lua
-- include: part-again.lua
local id = ARGV[3]
if call('EXISTS', P .. id) == 0 then return 0 end
for _, state in ipairs({'failed', 'completed'}) do
  if call('ZSCORE', K[state], id) then
    runAgain(id, state, ARGV[4] == '1', ARGV[5] == '1')
    trimIn(P)
    return 1
  end
end
return -3

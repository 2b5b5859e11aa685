-- Removes a scheduler and the run that waits.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 scheduler id
-- Returns 1 removed, 0 no such scheduler. Invariants: a run that a worker holds goes on, and plans no other.
-- include: part-keys.lua
-- include: part-removal.lua
local id = ARGV[3]
local own = 'repeat:' .. id
local time = call('ZSCORE', P .. 'repeat', id)
local known = call('DEL', P .. own)
if not time then return known end
call('ZREM', P .. 'repeat', id)
local run = own .. ':' .. string.format('%.0f', tonumber(time))
if call('EXISTS', P .. run .. ':lock') == 1 then return 1 end
local waited = call('ZREM', K.delayed, run) + call('ZREM', K.prioritized, run) + call('LREM', K.wait, 0, run)
  + call('LREM', K.paused, 0, run)
if waited > 0 then
  forget(P, {run})
  emit('removed', 'jobId', run, 'prev', 'delayed')
  trimIn(P)
end
return 1

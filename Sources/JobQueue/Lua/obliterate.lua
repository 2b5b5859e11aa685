-- Deletes a queue with everything in it, a bounded number of jobs a call.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 also while jobs are active 0/1 | 4 at most so many jobs
-- Returns 0 all is gone, 1 call again, -1 the queue is not paused, -2 jobs are active.
-- Invariants: nothing is written when refused; keys of the queue itself go last, so that a call that was cut off can be
--   repeated. Beyond what BullMQ deletes, the rate limit, deduplication ids of these jobs and schedulers go as well.
-- include: part-keys.lua
-- include: part-removal.lua
if call('HEXISTS', K.meta, 'paused') == 0 then return -1 end
if ARGV[3] ~= '1' and call('EXISTS', K.active) == 1 then return -2 end
local count = tonumber(ARGV[4])
local function all() return true end
for _, list in ipairs({K.active, K.wait, K.paused}) do
  local gone = takeFromList(list, 0, count, all)
  for _, id in ipairs(gone) do call('DEL', P .. id .. ':lock') end
  forget(P, gone)
  count = count - #gone
  if count <= 0 then return 1 end
end
for _, state in ipairs({'waiting-children', 'prioritized', 'delayed', 'completed', 'failed'}) do
  local gone = takeFromSet(P .. state, 0, count, '+inf', all)
  forget(P, gone)
  count = count - #gone
  if count <= 0 then return 1 end
end
-- A parent that was released while its children went.
if call('EXISTS', K.wait, K.paused, K.prioritized, K.delayed) > 0 then return 1 end
for _, id in ipairs(call('ZRANGE', P .. 'repeat', 0, -1)) do call('DEL', P .. 'repeat:' .. id) end
call('DEL', P .. 'repeat', K.id, K.pc, K.marker, K.events, K.limiter, K.stalled, K.check, K.meta, P .. 'priority', P .. 'delay',
  P .. 'metrics:completed', P .. 'metrics:failed', P .. 'metrics:completed:data', P .. 'metrics:failed:data')
return 0

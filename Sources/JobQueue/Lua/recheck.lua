-- Looks again, in one step, at what a scan of the moving queue made suspicious, and mends ghosts when asked.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 take ghosts out 0/1 | 4... ids
-- Returns for each id: whether its hash is there 0/1, whether a lock is 0/1, and the names of the states it stands in, one
--   for each time.
-- Invariants: only ids without a hash are taken out, and only when no worker holds their lock.
-- include: part-keys.lua
local result = {}
for index = 4, #ARGV do
  local id = ARGV[index]
  local states = {}
  for _, state in ipairs({'completed', 'failed', 'delayed', 'prioritized', 'waiting-children'}) do
    if call('ZSCORE', P .. state, id) then states[#states + 1] = state end
  end
  for _, state in ipairs({'wait', 'paused', 'active'}) do
    for _ = 1, #call('LPOS', P .. state, id, 'COUNT', 0) do states[#states + 1] = state end
  end
  local exists = call('HEXISTS', P .. id, 'name') + call('HEXISTS', P .. id, 'data') > 0
  result[#result + 1] = exists and 1 or 0
  local locked = call('EXISTS', P .. id .. ':lock') == 1
  result[#result + 1] = locked and 1 or 0
  result[#result + 1] = states
  if ARGV[3] == '1' and not exists and not locked then
    for _, state in ipairs(states) do
      if state == 'wait' or state == 'paused' or state == 'active' then
        call('LREM', P .. state, 0, id)
      else
        call('ZREM', P .. state, id)
      end
    end
    if #states > 0 then call('DEL', P .. id) end
  end
end
return result

-- Gives a job another priority.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 id | 4 priority, 0 for none | 5 as the next of its kind 0/1
-- Returns 1 changed, 0 no such job.
-- Invariants: a job that waits stands behind the others of its new class; in any other state only the field changes, and
--   counts when the job gets to wait.
-- include: part-keys.lua
-- include: part-place.lua
local id, priority = ARGV[3], tonumber(ARGV[4])
local key = P .. id
if call('EXISTS', key) == 0 then return 0 end
local waits = call('ZREM', K.prioritized, id) == 1 or call('LREM', K.wait, -1, id) > 0 or call('LREM', K.paused, -1, id) > 0
call('HSET', key, 'priority', priority)
if waits then
  if ARGV[5] == '1' and priority > 0 then
    -- Below every counter value of its class.
    call('ZADD', K.prioritized, priority * 4294967296, id)
    if not blockedIn(P) then call('ZADD', K.marker, 0, '0') end
  else
    placeReady(P, id, priority, ARGV[5] == '1' and 'RPUSH' or 'LPUSH')
  end
end
return 1

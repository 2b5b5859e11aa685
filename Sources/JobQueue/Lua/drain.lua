-- Removes jobs that wait to be taken, a bounded number a call.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 state: wait, paused, prioritized or delayed | 4 how many to leave aside at the front | 5 how many to look at
-- Returns {removed, looked at}. Invariants: the next run of each scheduler stays; no event, as BullMQ does it.
-- include: part-keys.lua
-- include: part-removal.lua
local scheduled = scheduledIn(P)
local function shouldGo(id) return not scheduled[id] end
local gone, seen
if ARGV[3] == 'wait' or ARGV[3] == 'paused' then
  gone, seen = takeFromList(K[ARGV[3]], tonumber(ARGV[4]), tonumber(ARGV[5]), shouldGo)
else
  gone, seen = takeFromSet(K[ARGV[3]], ARGV[4], ARGV[5], '+inf', shouldGo)
end
forget(P, gone)
return {#gone, seen}

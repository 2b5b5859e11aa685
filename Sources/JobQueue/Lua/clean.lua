-- Removes jobs of one state that are older than a moment, a bounded number a call.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 state: completed, failed, wait, paused, active, prioritized, delayed or waiting-children
--   4 the moment in ms | 5 how many to leave aside at the front | 6 how many to look at | 7 how many to remove at most
-- Returns {removed, looked at}.
-- Invariants: a finished job is as old as its end, another as its last take or else its making; active jobs go only when
--   nobody holds their lock; the next run of each scheduler stays.
-- include: part-keys.lua
-- include: part-removal.lua
local state, moment, skip, count = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local room = tonumber(ARGV[7])
local scheduled = scheduledIn(P)

local function shouldGo(id)
  if room <= 0 or scheduled[id] then return false end
  local key = P .. id
  if state == 'active' and call('EXISTS', key .. ':lock') == 1 then return false end
  if state ~= 'completed' and state ~= 'failed' then
    local times = call('HMGET', key, 'finishedOn', 'processedOn', 'timestamp')
    if state == 'delayed' or state == 'prioritized' or state == 'waiting-children' then times = {times[3]} end
    local age = tonumber(times[1] or times[2] or times[3] or '')
    if not age or age > moment then return false end
  end
  room = room - 1
  return true
end

local gone, seen
if state == 'wait' or state == 'paused' or state == 'active' then
  gone, seen = takeFromList(K[state], skip, count, shouldGo)
else
  local most = (state == 'completed' or state == 'failed') and ARGV[4] or '+inf'
  gone, seen = takeFromSet(P .. state, skip, count, most, shouldGo)
end
if #gone > 0 then
  if state == 'active' then inChunks('SREM', K.stalled, gone) end
  forget(P, gone)
  emit('cleaned', 'count', #gone)
  trimIn(P)
end
return {#gone, seen}

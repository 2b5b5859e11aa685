-- Makes or changes a scheduler, and its next run.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 scheduler id | 4 next run in ms | 5 the run after it when that slot is taken ('' = then refuse)
--   6 the run's data | 7, 8 its opts for either time | 9 number of fields, then name and value of each field of the scheduler
-- Returns the time of the next run, or -10 that run's id is taken, or -11 both slots are taken.
-- Invariants: checks before writes; the run that waited before is removed, one that a worker holds is left to it; one run of
--   a scheduler waits at any time, the one that `repeat` names.
-- include: part-keys.lua
-- include: part-removal.lua
local id = ARGV[3]
local own = 'repeat:' .. id
local before = call('ZSCORE', P .. 'repeat', id)
local old = before and own .. ':' .. string.format('%.0f', tonumber(before))
if old then
  local waits = call('ZSCORE', K.delayed, old) or call('ZSCORE', K.prioritized, old) or call('LPOS', K.wait, old)
    or call('LPOS', K.paused, old)
  if not waits or call('EXISTS', P .. old .. ':lock') == 1 then old = nil end
end
local function isFree(time)
  local run = own .. ':' .. time
  return run == old or call('EXISTS', P .. run) == 0
end
local chosen, opts = ARGV[4], ARGV[7]
if not isFree(chosen) then
  if ARGV[5] == '' then return -10 end
  chosen, opts = ARGV[5], ARGV[8]
  if not isFree(chosen) then return -11 end
end

if old then
  call('ZREM', K.delayed, old)
  call('ZREM', K.prioritized, old)
  call('LREM', K.wait, 0, old)
  call('LREM', K.paused, 0, old)
  forget(P, {old})
  emit('removed', 'jobId', old, 'prev', 'delayed')
end
local fields = {}
for index = 10, 9 + tonumber(ARGV[9]) * 2 do fields[#fields + 1] = ARGV[index] end
call('DEL', P .. own)
call('HSET', P .. own, 'ic', 1, unpack(fields))
call('ZADD', P .. 'repeat', chosen, id)
call('INCR', K.id)
local settings = decoded(opts)
createIn(P, {
  id = own .. ':' .. chosen, name = call('HGET', P .. own, 'name'), data = ARGV[6], opts = opts, timestamp = ARGV[2],
  delay = math.max(tonumber(chosen) - now, 0), priority = settings.priority, lifo = settings.lifo, rjk = id,
})
trimIn(P)
return tonumber(chosen)

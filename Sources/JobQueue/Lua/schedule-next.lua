-- Adds the next run of a scheduler after one of its runs was taken.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 scheduler id | 4 time of the run that was taken | 5 iterations so far, as they were read
--   6 time of the next run | 7 its data | 8 its opts
-- Returns 1 added, 0 not the current run or planned already, -1 the scheduler was changed since it was read.
-- Invariants: however many workers call this for one run, one of them adds; a scheduler that was removed stays removed.
-- include: part-keys.lua
-- include: part-failure.lua
-- include: part-place.lua
local id, own = ARGV[3], 'repeat:' .. ARGV[3]
local current = call('ZSCORE', P .. 'repeat', id)
if not current or tonumber(current) ~= tonumber(ARGV[4]) then return 0 end
local fields = call('HMGET', P .. own, 'ic', 'name')
if (fields[1] or '0') ~= ARGV[5] or not fields[2] then return -1 end
local run = own .. ':' .. ARGV[6]
if call('EXISTS', P .. run) == 1 then return 0 end
call('ZADD', P .. 'repeat', ARGV[6], id)
call('HINCRBY', P .. own, 'ic', 1)
call('INCR', K.id)
local settings = decoded(ARGV[8])
createIn(P, {
  id = run, name = fields[2], data = ARGV[7], opts = ARGV[8], timestamp = ARGV[2],
  delay = math.max(tonumber(ARGV[6]) - now, 0), priority = settings.priority, lifo = settings.lifo, rjk = id,
})
trimIn(P)
return 1

-- Gives a delayed job another due time.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 id | 4 due in ms | 5 the options as they are now | 6 the options as they shall be
-- Returns 1 changed, 0 no such job, -1 not delayed any more, -2 the options were changed meanwhile.
-- Invariants: nothing is written unless it is changed.
-- include: part-keys.lua
-- include: part-state.lua
local id, due = ARGV[3], tonumber(ARGV[4])
local key = P .. id
local opts = call('HGET', key, 'opts')
if not opts then return 0 end
if not call('ZSCORE', K.delayed, id) then return -1 end
if opts ~= ARGV[5] then return -2 end
call('HSET', key, 'delay', math.max(due - now, 0), 'opts', ARGV[6])
call('ZADD', K.delayed, delayedScore(due), id)
emit('delayed', 'jobId', id, 'delay', due)
markNextDue()
trimEvents()
return 1

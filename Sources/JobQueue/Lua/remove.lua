-- Removes a job that nobody works on.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 id
-- Returns 1 removed, 0 no such job, -1 locked by a worker.
-- Invariants: nothing is written unless the job goes; a deduplication id that the job owns is freed.
-- include: part-keys.lua
-- include: part-state.lua
-- include: part-locate.lua
local id = ARGV[3]
local key = P .. id
if call('EXISTS', key .. ':lock') == 1 then return -1 end
if call('EXISTS', key) == 0 then return 0 end
local state = locate(id)
local lists = {active = K.active, waiting = K.wait, paused = K.paused}
local sets = {
  completed = K.completed, failed = K.failed, delayed = K.delayed, prioritized = K.prioritized,
  ['waiting-children'] = P .. 'waiting-children',
}
if lists[state] then call('LREM', lists[state], 0, id) end
if sets[state] then call('ZREM', sets[state], id) end
local deid = call('HGET', key, 'deid')
if deid and call('GET', P .. 'de:' .. deid) == id then call('DEL', P .. 'de:' .. deid, P .. 'dn:' .. deid) end
deleteJobs({id})
emit('removed', 'jobId', id, 'prev', state)
trimEvents()
return 1

-- Takes back a job that no worker has ever held: removes it, or gives it another id and due time.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 the new id ('' to remove the job) | 4 the new due time in ms | 5… the ids it may have
-- Returns {code, id}: 1 done, 0 none of the ids names a job, -1 a worker holds it, -2 it has ended, -3 a worker held it before
--   and it waits to be run again, -4 it belongs to a flow, a scheduler or a deduplication id, -5 the new id is taken.
-- Invariants: nothing is written unless the job is taken back; its data, priority and timestamp stay, so that timestamp and
--   delay add up to the new due time.
-- include: part-keys.lua
-- include: part-removal.lua
local id
for index = 5, #ARGV do
  if call('EXISTS', P .. ARGV[index]) == 1 then
    id = ARGV[index]
    break
  end
end
if not id then return {0, ''} end
local key = P .. id
if call('EXISTS', key .. ':lock') == 1 then return {-1, id} end
if call('ZSCORE', K.completed, id) or call('ZSCORE', K.failed, id) then return {-2, id} end
if call('LPOS', K.active, id) then return {-1, id} end
local fields = call('HMGET', key, 'ats', 'deid', 'parent', 'rjk', 'opts', 'timestamp', 'name')
if wholeNumber(fields[1]) > 0 then return {-3, id} end
if fields[2] or fields[3] or fields[4] or call('EXISTS', key .. ':dependencies', key .. ':unsuccessful') > 0 then
  return {-4, id}
end
local newID = ARGV[3]
if newID ~= '' and call('EXISTS', P .. newID) == 1 then return {-5, id} end

local found = 'unknown'
for _, state in ipairs({'delayed', 'prioritized'}) do
  if call('ZREM', K[state], id) == 1 then found = state end
end
if found == 'unknown' then
  for _, state in ipairs({'wait', 'paused'}) do
    if call('LREM', K[state], 0, id) > 0 then found = state == 'wait' and 'waiting' or state end
  end
end
if newID == '' then
  forget(P, {id})
else
  local due = math.max(tonumber(ARGV[4]), now)
  local delay = math.max(due - wholeNumber(fields[6]), 0)
  local opts = decoded(fields[5])
  opts.jobId = newID
  opts.delay = delay
  local target = P .. newID
  call('RENAME', key, target)
  if call('EXISTS', key .. ':logs') == 1 then call('RENAME', key .. ':logs', target .. ':logs') end
  call('HSET', target, 'delay', delay, 'opts', cjson.encode(opts))
  emit('added', 'jobId', newID, 'name', fields[7] or '')
  placeDelayed(P, newID, due)
end
emit('removed', 'jobId', id, 'prev', found)
trimEvents()
return {1, id}

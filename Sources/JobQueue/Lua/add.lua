-- Adds jobs in one go.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 number of jobs, then for each: id ('' for a number) | name | data | opts | timestamp | delay | priority | lifo 0/1
-- Returns {ids, duplicates}: the id of each job, and the indexes of those that were not added because one of that id exists.
-- Invariants: an existing job, finished ones included, is never changed; the counter `id` grows by one for each job.
-- include: part-keys.lua
-- include: part-state.lua
-- include: part-enqueue.lua
local count = tonumber(ARGV[3])
local number = call('INCRBY', K.id, count) - count
local ids, duplicates, plain, urgent = {}, {}, {}, {}
local anyWaiting, anyDelayed = false, false

-- One look for all ids: they are nearly always free. Within the group the same id may still come twice.
local keys, seen = {}, {}
for index = 1, count do
  local id = ARGV[index * 8 - 4]
  if id == '' then id = string.format('%.0f', number + index) end
  ids[index] = id
  keys[index] = P .. id
end
local allFree = call('EXISTS', unpack(keys)) == 0

for index = 1, count do
  local at = index * 8 - 4
  local id = ids[index]
  local isNew = not seen[id] and (allFree or call('EXISTS', P .. id) == 0)
  if not isNew and ARGV[at] == '' then
    id = freshID()
    ids[index] = id
    isNew = true
  end
  seen[id] = true
  if isNew then
    local target = plain
    if ARGV[at + 7] == '1' then target = urgent end
    local place = enqueue(id, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], ARGV[at + 6], target)
    if place == 'delayed' then anyDelayed = true else anyWaiting = true end
  else
    duplicates[#duplicates + 1] = index
    emit('duplicated', 'jobId', id)
  end
end

if #plain > 0 or #urgent > 0 then
  local list = waitList()
  inChunks('LPUSH', list, plain)
  inChunks('RPUSH', list, urgent)
end
if anyWaiting and not isBlocked() then wake() end
if anyDelayed then markNextDue() end
trimEvents()
return {ids, duplicates}

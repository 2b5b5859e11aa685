-- Adds jobs in one go.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 number of jobs, then for each: id ('' for a number) | name | data | opts | timestamp | delay | priority | lifo 0/1
-- Returns for each job its id and 1 when it was added, 0 when a job of that id exists already.
-- Invariants: an existing job, finished ones included, is never changed; the counter `id` grows by one for each job.
-- include: part-keys.lua
-- include: part-state.lua
-- include: part-enqueue.lua
local count = tonumber(ARGV[3])
local number = call('INCRBY', K.id, count) - count
local results, plain, urgent = {}, {}, {}
local anyWaiting, anyDelayed = false, false

for index = 0, count - 1 do
  local at = 4 + index * 8
  local id = ARGV[at]
  number = number + 1
  local isNew = true
  if id == '' then
    id = freshID(number)
  elseif call('EXISTS', P .. id) == 1 then
    isNew = false
    emit('duplicated', 'jobId', id)
  end
  if isNew then
    local target = plain
    if ARGV[at + 7] == '1' then target = urgent end
    local place = enqueue(id, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], ARGV[at + 6], target)
    if place == 'delayed' then anyDelayed = true else anyWaiting = true end
  end
  results[#results + 1] = id
  results[#results + 1] = isNew and 1 or 0
end

if #plain > 0 or #urgent > 0 then
  local list = waitList()
  inChunks('LPUSH', list, plain)
  inChunks('RPUSH', list, urgent)
end
if anyWaiting and not isBlocked() then wake() end
if anyDelayed then markNextDue() end
trimEvents()
return results

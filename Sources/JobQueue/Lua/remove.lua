-- Removes a job that nobody works on.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 id | 4 also its children and theirs 0/1
-- Returns 1 removed, 0 no such job, -1 it or one of those children is locked by a worker, -8 it is a scheduler's next run,
--   -12 more than 10,000 children.
-- Invariants: nothing is written unless the job goes; a deduplication id that the job owns is freed; a parent that waited
--   for nobody else goes on.
-- include: part-keys.lua
-- include: part-locate.lua
-- include: part-removal.lua
local id = ARGV[3]
if call('EXISTS', P .. id .. ':lock') == 1 then return -1 end
if call('EXISTS', P .. id) == 0 then return 0 end
if scheduledIn(P)[id] then return -8 end

local jobs = {{base = P, id = id}}
if ARGV[4] == '1' then
  local seen, at = {[P .. id] = true}, 1
  while jobs[at] do
    local key = jobs[at].base .. jobs[at].id
    local children = {call('SMEMBERS', key .. ':dependencies'), call('HKEYS', key .. ':processed'),
      call('HKEYS', key .. ':failed'), call('ZRANGE', key .. ':unsuccessful', 0, -1)}
    for _, list in ipairs(children) do
      for _, child in ipairs(list) do
        if not seen[child] and call('EXISTS', child) == 1 then
          seen[child] = true
          if call('EXISTS', child .. ':lock') == 1 then return -1 end
          local base, childID = string.match(child, '^(.*:)([^:]+)$')
          if base then jobs[#jobs + 1] = {base = base, id = childID} end
          if #jobs > 10000 then return -12 end
        end
      end
    end
    at = at + 1
  end
end

-- Children first, so that no parent is released in between only to be removed.
local states = {'completed', 'failed', 'delayed', 'prioritized', 'waiting-children'}
for index = #jobs, 1, -1 do
  local job = jobs[index]
  local found = 'unknown'
  for _, state in ipairs(states) do
    if call('ZREM', job.base .. state, job.id) == 1 then found = state end
  end
  for _, state in ipairs({'wait', 'paused', 'active'}) do
    if call('LREM', job.base .. state, 0, job.id) > 0 then found = state == 'wait' and 'waiting' or state end
  end
  call('SREM', job.base .. 'stalled', job.id)
  job.found = found
end
for index = #jobs, 1, -1 do
  local job = jobs[index]
  forget(job.base, {job.id})
  emitIn(job.base, 'removed', 'jobId', job.id, 'prev', job.found)
  trimIn(job.base)
end
return 1

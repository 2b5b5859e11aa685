-- Adds jobs that are bound to others: with a deduplication id, with a parent, or as a whole tree in one step.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 number of jobs, then 15 for each, parents before their children:
--   base | id ('' for a number) | name | data | opts | timestamp | delay | priority | lifo 0/1
--   waits for children 0/1 | parent: position among these jobs (1...), or the full key of an older job, or ''
--   parent's queue key and id for an older job, else ''  | '' or the flag fpof, cpof, idof, rdof for the parent's failure
--   deduplication: '' or JSON {id, ttl, extend, replace, keepLast}
-- Returns {0, for each job: id and 1 added, 0 duplicate, 2 deduplicated}, or {-5 or -7, position of the job at fault}.
-- Invariants: everything that can be refused is checked before anything is written; no child can end before its parent and
--   all its siblings are there; a parent whose children all ended already is released at the end; an existing job is never
--   changed, except that one without a parent, or with the same, becomes a child of the one it is added under.
-- include: part-keys.lua
-- include: part-removal.lua
local FIELDS = 15
local count = tonumber(ARGV[3])
local jobs = {}
for index = 1, count do
  local at = 4 + (index - 1) * FIELDS
  jobs[index] = {
    base = ARGV[at], id = ARGV[at + 1], name = ARGV[at + 2], data = ARGV[at + 3], opts = ARGV[at + 4],
    timestamp = ARGV[at + 5], delay = ARGV[at + 6], priority = ARGV[at + 7], lifo = ARGV[at + 8] == '1',
    waits = ARGV[at + 9] == '1', under = ARGV[at + 10], queueKey = ARGV[at + 11], parentID = ARGV[at + 12],
    flag = ARGV[at + 13], rule = ARGV[at + 14] ~= '' and cjson.decode(ARGV[at + 14]) or nil,
  }
end

-- Checks. A job of this call has no key yet, so only older parents can be missing.
local seen = {}
for index, job in ipairs(jobs) do
  local isOlder = job.under ~= '' and not tonumber(job.under)
  if isOlder and call('EXISTS', job.under) == 0 then return {-5, index} end
  if job.id ~= '' then
    local key = job.base .. job.id
    if seen[key] and seen[key] ~= job.under then return {-7, index} end
    seen[key] = job.under
  end
  if job.under ~= '' and job.id ~= '' then
    local current = call('HGET', job.base .. job.id, 'parentKey')
    if current and call('EXISTS', current) == 1 then
      local wanted = job.under
      if not isOlder then
        local parent = jobs[tonumber(job.under)]
        wanted = parent.id ~= '' and parent.base .. parent.id
      end
      if current ~= wanted then return {-7, index} end
    end
  end
end

-- An existing job becomes a child: what it already ended with counts, else it is waited for.
local function link(job)
  local key = job.base .. job.id
  call('HSET', key, 'parentKey', job.parentKey, 'parent', job.parent)
  if call('ZSCORE', job.base .. 'completed', job.id) then
    call('HSET', job.parentKey .. ':processed', key, call('HGET', key, 'returnvalue') or 'null')
  else
    call('SADD', job.parentKey .. ':dependencies', key)
  end
end

local results, bases, parents = {0}, {}, {}
for index, job in ipairs(jobs) do
  call('INCR', job.base .. 'id')
  bases[job.base] = true
  if job.under ~= '' then
    local above = jobs[tonumber(job.under)]
    local parent = {id = job.parentID, queueKey = job.queueKey}
    if above then parent = {id = above.id, queueKey = string.sub(above.base, 1, -2)} end
    if job.flag ~= '' then parent[job.flag] = true end
    job.parentKey = parent.queueKey .. ':' .. parent.id
    job.parent = cjson.encode(parent)
  end
  local isNew = 1
  if job.id == '' then
    -- The counter has just grown, its value is the candidate.
    job.id = call('GET', job.base .. 'id')
    if call('EXISTS', job.base .. job.id) == 1 then job.id = freshIn(job.base) end
  elseif call('EXISTS', job.base .. job.id) == 1 then
    isNew = 0
    emitIn(job.base, 'duplicated', 'jobId', job.id)
    if job.parentKey then link(job) end
  end
  if isNew == 1 and job.rule then
    job.deid = job.rule.id
    local kept = deduplicate(job.base, job, job.rule)
    if kept then
      job.id = kept
      isNew = 2
    end
  end
  if isNew == 1 then createIn(job.base, job) end
  if job.waits then parents[#parents + 1] = job end
  results[#results + 1] = job.id
  results[#results + 1] = isNew
end

-- From the leaves up: all children may be jobs that completed long ago.
for index = #parents, 1, -1 do
  local job = parents[index]
  if call('SCARD', job.base .. job.id .. ':dependencies') == 0 then releaseParent(job.base, job.id) end
end
for base in pairs(bases) do trimIn(base) end
return results

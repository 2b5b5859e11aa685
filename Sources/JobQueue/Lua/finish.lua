-- Ends jobs as completed or failed.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 kept completed jobs | 4 their age in s | 5 kept failed jobs | 6 their age in s | 7 number of jobs, then for each:
--   id | token | 'completed' or 'failed' | returnvalue as JSON, or reason as text | trace of the failure ('' for none)
-- Returns a code for each job: 0 done, -1 no hash, -2 no lock, -3 not active, -6 lock of another.
-- Invariants: everything is checked before anything is written; a job with a code other than 0 is not touched; the ids
--   leave `active` in one pass, so that the cost does not depend on their order.
-- include: part-keys.lua
-- include: part-state.lua
-- include: part-enqueue.lua
-- include: part-active.lua
-- include: part-failure.lua
-- include: part-retention.lua
-- include: part-deduplication.lua
-- include: part-flow.lua
local defaults = {
  completed = {count = tonumber(ARGV[3]), age = tonumber(ARGV[4])},
  failed = {count = tonumber(ARGV[5]), age = tonumber(ARGV[6])},
}
local fieldOf = {completed = 'removeOnComplete', failed = 'removeOnFail'}
local jobs = {}
for index = 1, tonumber(ARGV[7]) do
  local at = 8 + (index - 1) * 5
  jobs[index] = {ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]}
end
local codes = letGo(jobs)

local entries = {completed = {}, failed = {}}
local rules = {completed = {}, failed = {}}
local gone = {}
local time = ARGV[2]
for index, job in ipairs(jobs) do
  if codes[index] == 0 then
    local id, state, value = job[1], job[3], job[4]
    local key = P .. id
    local stored = call('HMGET', key, 'atm', 'opts', 'deid', 'parent', 'defa', 'stacktrace')
    local made = (stored[1] and tonumber(stored[1]) or 0) + 1
    local rule = retentionRule(stored[2], fieldOf[state], defaults[state])
    if stored[3] then releaseDeduplication(id, stored[3]) end
    if stored[4] then tellParent(id, stored[4], state, value, rule.count == 0) end
    if rule.count == 0 then
      gone[#gone + 1] = id
    elseif state == 'completed' then
      call('HSET', key, 'returnvalue', value, 'finishedOn', time, 'atm', made)
    else
      call('HSET', key, 'failedReason', value, 'finishedOn', time, 'atm', made)
      if stored[5] then call('HDEL', key, 'defa') end
    end
    if rule.count ~= 0 then
      local list = entries[state]
      list[#list + 1] = now
      list[#list + 1] = id
      rules[state][rule] = true
    end
    if state == 'completed' then
      call('XADD', events, '*', 'event', 'completed', 'jobId', id, 'returnvalue', value, 'prev', 'active')
    else
      local opts = decoded(stored[2])
      if rule.count ~= 0 and job[5] ~= '' then
        call('HSET', key, 'stacktrace', withTrace(stored[6], job[5], opts))
      end
      emit('failed', 'jobId', id, 'failedReason', value, 'prev', 'active')
      if made >= (tonumber(opts.attempts) or 0) then
        emit('retries-exhausted', 'jobId', id, 'attemptsMade', made)
      end
    end
  end
end

deleteJobs(gone)
for _, state in ipairs({'completed', 'failed'}) do
  inChunks('ZADD', K[state], entries[state])
  for rule in pairs(rules[state]) do evict(K[state], rule) end
end
trimEvents()
-- With a global concurrency the end of a job makes room that nobody else would tell idle workers of.
if call('EXISTS', K.wait) == 1 or call('EXISTS', K.prioritized) == 1 then
  if not isBlocked() then wake() end
elseif call('EXISTS', K.active) == 0 then
  emit('drained')
end
return codes

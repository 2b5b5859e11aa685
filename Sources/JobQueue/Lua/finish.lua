-- Ends jobs as completed or failed.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 kept completed jobs | 4 their age in s | 5 kept failed jobs | 6 their age in s | 7 minutes of metrics to keep, 0 none
--   8 number of jobs, then for each:
--   id | token | 'completed' or 'failed' | returnvalue as JSON, or reason as text | trace of the failure ('' for none)
-- Returns index and code of each job that was not ended: -1 no hash, -2 no lock, -3 not active,
--   -4 children are open, -6 lock of another, -9 a child failed that fails this job.
-- Invariants: everything is checked before anything is written; a job with a code other than 0 is not touched; the ids
--   leave `active` in one pass, so that the cost does not depend on their order.
-- include: part-keys.lua
-- include: part-state.lua
-- include: part-enqueue.lua
-- include: part-active.lua
-- include: part-failure.lua
-- include: part-metrics.lua
-- include: part-retention.lua
-- include: part-deduplication.lua
-- include: part-flow.lua
local defaults = {
  completed = {count = tonumber(ARGV[3]), age = tonumber(ARGV[4])},
  failed = {count = tonumber(ARGV[5]), age = tonumber(ARGV[6])},
}
local fieldOf = {completed = 'removeOnComplete', failed = 'removeOnFail'}
local ids, tokens = {}, {}
for index = 1, tonumber(ARGV[8]) do
  ids[index] = ARGV[4 + index * 5]
  tokens[index] = ARGV[5 + index * 5]
end
local codes = letGo(ids, tokens, function(index) return ARGV[6 + index * 5] == 'completed' end)

local entries = {completed = {}, failed = {}}
local rules = {completed = {}, failed = {}}
local gone = {}
local ended = {completed = 0, failed = 0}
local time = ARGV[2]

local function endFailed(id, key, reason, trace, opts, made, isKept)
  local stored = call('HMGET', key, 'defa', 'stacktrace')
  local wishes = decoded(opts)
  if isKept then
    call('HSET', key, 'failedReason', reason, 'finishedOn', time, 'atm', made)
    if stored[1] then call('HDEL', key, 'defa') end
    if trace ~= '' then call('HSET', key, 'stacktrace', withTrace(stored[2], trace, wishes)) end
  end
  emit('failed', 'jobId', id, 'failedReason', reason, 'prev', 'active')
  if tonumber(made) >= (tonumber(wishes.attempts) or 0) then
    emit('retries-exhausted', 'jobId', id, 'attemptsMade', made)
  end
end

for index = 1, #ids do
  if codes[index] == 0 then
    local at = 4 + index * 5
    local id, state, value = ids[index], ARGV[at + 2], ARGV[at + 3]
    local key = P .. id
    local stored = call('HMGET', key, 'atm', 'opts', 'deid', 'parent')
    -- Text where it can be: a Lua number as an argument is printed at some cost.
    local made = stored[1] and wholeNumber(stored[1]) + 1 or '1'
    local rule = retentionRule(stored[2], fieldOf[state], defaults[state])
    if stored[3] then releaseDeduplication(id, stored[3]) end
    if stored[4] then tellParent(id, stored[4], state, value, rule.count == 0) end
    local isKept = rule.count ~= 0
    ended[state] = ended[state] + 1
    if isKept then
      local list = entries[state]
      local size = #list
      list[size + 1] = time
      list[size + 2] = id
      rules[state][rule] = true
    else
      gone[#gone + 1] = id
    end
    if state == 'completed' then
      if isKept then call('HSET', key, 'returnvalue', value, 'finishedOn', time, 'atm', made) end
      call('XADD', events, '*', 'event', 'completed', 'jobId', id, 'returnvalue', value, 'prev', 'active')
    else
      endFailed(id, key, value, ARGV[at + 4], stored[2], made, isKept)
    end
  end
end

deleteJobs(gone)
for state in pairs(entries) do
  inChunks('ZADD', K[state], entries[state])
  for rule in pairs(rules[state]) do evict(K[state], rule) end
  countEnded(state, ended[state], tonumber(ARGV[7]))
end
trimEvents()
-- With a global concurrency the end of a job makes room that nobody else would tell idle workers of.
if call('EXISTS', K.wait) == 1 or call('EXISTS', K.prioritized) == 1 then
  if not isBlocked() then wake() end
elseif call('EXISTS', K.active) == 0 then
  emit('drained')
end
local refused = {}
for index = 1, #ids do
  if codes[index] ~= 0 then
    refused[#refused + 1] = index
    refused[#refused + 1] = codes[index]
  end
end
return refused

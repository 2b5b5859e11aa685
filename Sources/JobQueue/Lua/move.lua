-- Gives active jobs back, to be run later or by somebody else.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 number of jobs, then for each:
--   id | token | due in ms, '' = wait again as next in line, 'again' = wait again behind the others
--   | 1 when the attempt counts, else 0 | reason ('' for none) | trace
-- Returns a code for each job, as finish does.
-- Invariants: everything is checked before anything is written; a job given back to `wait` counts no attempt.
-- include: part-keys.lua
-- include: part-state.lua
-- include: part-active.lua
-- include: part-failure.lua
-- include: part-promote.lua
local ids, tokens = {}, {}
for index = 1, tonumber(ARGV[3]) do
  local at = index * 6 - 2
  ids[index] = ARGV[at]
  tokens[index] = ARGV[at + 1]
end
local codes = letGo(ids, tokens)

local plain, again = {}, {}
local anyDelayed, anyWaiting = false, false
-- From the last to the first, so that the first stands next in line at the end.
for index = #ids, 1, -1 do
  local at = index * 6 - 2
  if codes[index] == 0 then
    local id, due, counts, reason, trace = ids[index], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5]
    local key = P .. id
    if reason ~= '' then
      local stored = call('HMGET', key, 'opts', 'stacktrace')
      call('HSET', key, 'failedReason', reason)
      if trace ~= '' then
        call('HSET', key, 'stacktrace', withTrace(stored[2], trace, decoded(stored[1])))
      end
    end
    if counts == '1' then call('HSET', key, 'atm', wholeNumber(call('HGET', key, 'atm')) + 1) end
    if due == '' or due == 'again' then
      local priority = wholeNumber(call('HGET', key, 'priority'))
      if due == 'again' and (priority > 0 or decoded(call('HGET', key, 'opts')).lifo ~= true) then
        again[#again + 1] = {id, priority}
      elseif priority > 0 then
        call('ZADD', K.prioritized, priority * 4294967296, id)
      else
        plain[#plain + 1] = id
      end
      emit('waiting', 'jobId', id, 'prev', 'active')
      anyWaiting = true
    else
      call('HSET', key, 'delay', math.max(tonumber(due) - now, 0))
      call('ZADD', K.delayed, delayedScore(tonumber(due)), id)
      emit('delayed', 'jobId', id, 'delay', due)
      anyDelayed = true
    end
  end
end
if #again > 0 then
  -- Delayed jobs that are due already have waited longer.
  promote()
  local last = {}
  for index = #again, 1, -1 do
    local id, priority = again[index][1], again[index][2]
    if priority > 0 then
      call('ZADD', K.prioritized, prioritizedScore(priority), id)
    else
      last[#last + 1] = id
    end
  end
  inChunks('LPUSH', waitList(), last)
end
if #plain > 0 then inChunks('RPUSH', waitList(), plain) end
if anyDelayed then markNextDue() end
if (anyWaiting or call('EXISTS', K.wait) == 1) and not isBlocked() then wake() end
trimEvents()
return codes

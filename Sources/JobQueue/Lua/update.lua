-- Writes what people and workers tell about a job.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 id | 4 'data' or 'progress' with 5 JSON text; or 'log' with 5 a row, 6 how many rows to keep ('' = as the job says)
-- Returns 1, for 'log' the number of rows there are; -1 when there is no such job.
-- Invariants: a job that is gone gets no keys.
-- include: part-keys.lua
-- include: part-failure.lua
-- include: part-place.lua
local key = P .. ARGV[3]
if call('EXISTS', key) == 0 then return -1 end
if ARGV[4] == 'data' then
  call('HSET', key, 'data', ARGV[5])
  return 1
end
if ARGV[4] == 'progress' then
  call('HSET', key, 'progress', ARGV[5])
  emit('progress', 'jobId', ARGV[3], 'data', ARGV[5])
  trimIn(P)
  return 1
end
local rows = call('RPUSH', key .. ':logs', ARGV[5])
local keep = tonumber(ARGV[6]) or tonumber(decoded(call('HGET', key, 'opts')).kl)
if keep and keep > 0 and rows > keep then
  call('LTRIM', key .. ':logs', -keep, -1)
  rows = keep
end
return rows

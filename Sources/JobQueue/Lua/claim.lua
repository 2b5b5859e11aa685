-- Takes up to a group of jobs.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 token | 4 lock duration in ms | 5 worker name | 6 limit | 7 limit for prioritized ones
--   8, 9 the worker's own rate limit: jobs and ms of its window, '' for none. The queue's own number of jobs comes first
-- Returns {ids, next due in ms or 0, paused 0/1, ms until the rate limit ends or 0, number of ids dropped}. What is in the
--   jobs the client reads afterwards by itself: they are locked, and passing them through Lua would cost half as much again.
-- Invariants: a job whose id is returned has a lock with our token and stands in `active` once; plain jobs come before
--   prioritized ones, but take at most three quarters of a group of two or more while prioritized ones wait.
-- include: part-keys.lua
-- include: part-state.lua
-- include: part-failure.lua
-- include: part-promote.lua
promote()

local limit = tonumber(ARGV[6])
local limits = call('HMGET', K.meta, 'max', 'duration')
local max = tonumber(limits[1]) or tonumber(ARGV[8])
local pausedFlag = isPaused() and 1 or 0
local limitedFor = 0
if max then
  local started = wholeNumber(call('GET', K.limiter))
  local rest = call('PTTL', K.limiter)
  if started >= max and rest > 0 then
    limitedFor = rest
    limit = 0
  elseif rest > 0 then
    limit = math.min(limit, max - started)
  else
    limit = math.min(limit, max)
  end
end
local room = roomLeft()
if room then limit = math.min(limit, room) end
if pausedFlag == 1 then limit = 0 end

local ids, taken, dropped = {}, 0, 0
local time, token, duration, worker = ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local function take(candidates, step)
  local keys = {}
  for at = 1, #candidates, step do keys[#keys + 1] = P .. candidates[at] end
  local allExist = call('EXISTS', unpack(keys)) == #keys
  local index = 0
  for at = 1, #candidates, step do
    local id = candidates[at]
    index = index + 1
    local key = keys[index]
    local started = redis.pcall('HGET', key, 'ats')
    if type(started) == 'table' then
      -- An id that names a key of another kind, which is not ours to touch.
      dropped = dropped + 1
    elseif (started or not allExist) and not call('HGET', key, 'data') and not call('HGET', key, 'name') then
      -- The hash is gone, or was made again empty by another client; also markers of BullMQ 4, whose ids begin with 0:.
      call('DEL', key)
      dropped = dropped + 1
    elseif not call('SET', key .. ':lock', token, 'PX', duration, 'NX') then
      -- The id stood in the list twice and somebody works on it already.
      dropped = dropped + 1
    else
      call('HSET', key, 'processedOn', time, 'pb', worker, 'ats', started and wholeNumber(started) + 1 or '1')
      call('XADD', events, '*', 'event', 'active', 'jobId', id, 'prev', 'waiting')
      taken = taken + 1
      ids[taken] = id
    end
  end
end

-- Each round takes only what its own limit still allows; ids that were dropped make room for more.
local function takePlain(most)
  local target = taken + most
  while taken < target do
    local popped = call('RPOP', K.wait, target - taken)
    if not popped or #popped == 0 then return end
    take(popped, 1)
  end
end

local function takePrioritized(most)
  local target = taken + most
  while taken < target do
    local popped = call('ZPOPMIN', K.prioritized, target - taken)
    if #popped == 0 then return end
    take(popped, 2)
  end
end

if limit > 0 then
  local prioritizedLimit = math.min(limit, tonumber(ARGV[7]))
  local share = math.min(call('ZCARD', K.prioritized), prioritizedLimit, limit > 1 and math.ceil(limit / 4) or 0)
  takePlain(limit - share)
  takePrioritized(math.min(limit - taken, prioritizedLimit))
  takePlain(limit - taken)
  if call('EXISTS', K.prioritized) == 0 then call('DEL', K.pc) end
end

if taken > 0 then
  inChunks('LPUSH', K.active, ids)
  if max and call('INCRBY', K.limiter, taken) == taken then
    call('PEXPIRE', K.limiter, tonumber(ARGV[9]) or tonumber(limits[2] or '') or 1000)
  end
  trimEvents()
end
-- Work that is left wakes the next idle worker.
if pausedFlag == 0 and (call('EXISTS', K.wait) == 1 or call('EXISTS', K.prioritized) == 1) then
  if roomLeft() ~= 0 then wake() end
end
return {ids, nextDue(), pausedFlag, limitedFor, dropped}

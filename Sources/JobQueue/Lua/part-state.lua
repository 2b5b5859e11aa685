-- Pause, limits, markers and scores.

-- The existence of the field `paused` counts, not its value.
local function isPaused()
  return call('HEXISTS', K.meta, 'paused') == 1
end

-- How many more jobs may be active under the queue's global concurrency; nil means no such limit.
local function roomLeft()
  local concurrency = tonumber(call('HGET', K.meta, 'concurrency'))
  if not concurrency then return nil end
  return math.max(concurrency - call('LLEN', K.active), 0)
end

local function isBlocked()
  if isPaused() then return true end
  return roomLeft() == 0
end

-- The list that plain jobs wait in. Clients of BullMQ 5 move it to `paused` while the queue is paused, those of 6 do not;
-- keeping to the one that is in use keeps all jobs in one list, whichever of them resumes the queue.
local function waitList()
  if isPaused() and call('EXISTS', K.paused) == 1 and call('EXISTS', K.wait) == 0 then
    return K.paused
  end
  return K.wait
end

-- Wakes one idle worker.
local function wake()
  call('ZADD', K.marker, 0, '0')
end

-- The due time of the next delayed job in ms, or 0.
local function nextDue()
  local first = call('ZRANGE', K.delayed, 0, 0, 'WITHSCORES')
  if #first == 0 then return 0 end
  return math.floor(tonumber(first[2]) / 4096)
end

-- Tells idle workers when the next delayed job is due.
local function markNextDue()
  local due = nextDue()
  if due > 0 then call('ZADD', K.marker, due, '1') end
end

-- due * 4096 + a sequence number, so that jobs of one millisecond stay in the order they came.
local function delayedScore(due)
  local low, high = due * 4096, due * 4096 + 4095
  local last = call('ZREVRANGEBYSCORE', K.delayed, high, low, 'WITHSCORES', 'LIMIT', 0, 1)
  if #last == 0 then return low end
  return math.min(tonumber(last[2]) + 1, high)
end

-- priority * 2^32 + a counter: lower numbers first, equal ones in the order they came.
local function prioritizedScore(priority)
  return priority * 4294967296 + call('INCR', K.pc) % 4294967296
end

-- What a job may have besides its hash and lock, and what of it a completed one still may have.
local PARTS = {':logs', ':processed', ':failed', ':dependencies', ':unsuccessful'}
local COMPLETED_PARTS = {':logs', ':processed', ':failed'}

-- Deletes jobs with all their keys but the lock.
local function deleteJobs(ids, parts)
  parts = parts or PARTS
  local each = #parts
  for first = 1, #ids, 500 do
    local hashes, others = {}, {}
    for index = first, math.min(first + 499, #ids) do
      local key = P .. ids[index]
      local at = #hashes
      hashes[at + 1] = key
      for part = 1, each do others[at * each + part] = key .. parts[part] end
    end
    call('DEL', unpack(hashes))
    -- Most jobs have none of these, and what is not deleted is not written to the append-only file either.
    if call('EXISTS', unpack(others)) > 0 then call('DEL', unpack(others)) end
  end
end

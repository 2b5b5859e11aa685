-- Gives jobs a place in any queue: a parent may belong to another queue than its child.
-- `base` is what every key of a queue begins with, its last colon included; for the queue of KEYS it is P.

-- Whether no worker is to be called: the queue is paused, or as many jobs are active as may be.
local function blockedIn(base)
  local limits = call('HMGET', base .. 'meta', 'paused', 'concurrency')
  if limits[1] then return true end
  local most = tonumber(limits[2] or '')
  return most ~= nil and call('LLEN', base .. 'active') >= most
end

-- The list that plain jobs wait in: `paused` only when a client of BullMQ 5 made it the one in use.
local function listIn(base)
  if call('HEXISTS', base .. 'meta', 'paused') == 1 and call('EXISTS', base .. 'paused') == 1
    and call('EXISTS', base .. 'wait') == 0 then
    return base .. 'paused'
  end
  return base .. 'wait'
end

local function emitIn(base, name, ...)
  call('XADD', base .. 'events', '*', 'event', name, ...)
end

local function trimIn(base)
  local cap = call('HGET', base .. 'meta', 'opts.maxLenEvents')
  if not cap then
    cap = 10000
    call('HSET', base .. 'meta', 'opts.maxLenEvents', cap)
  end
  call('XTRIM', base .. 'events', 'MAXLEN', '~', cap)
end

-- Makes a job ready to be taken. `side` is for jobs without a priority: LPUSH the end of the line, RPUSH the very next.
local function placeReady(base, id, priority, side)
  if priority > 0 then
    local score = priority * 4294967296 + call('INCR', base .. 'pc') % 4294967296
    call('ZADD', base .. 'prioritized', score, id)
  else
    call(side, listIn(base), id)
  end
  if not blockedIn(base) then call('ZADD', base .. 'marker', 0, '0') end
end

-- Lets a job wait for its due time, behind the others of that millisecond.
local function placeDelayed(base, id, due)
  local set = base .. 'delayed'
  local low, high = due * 4096, due * 4096 + 4095
  local last = call('ZREVRANGEBYSCORE', set, high, low, 'WITHSCORES', 'LIMIT', 0, 1)
  local score = low
  if #last > 0 then score = math.min(tonumber(last[2]) + 1, high) end
  call('ZADD', set, score, id)
  local first = call('ZRANGE', set, 0, 0, 'WITHSCORES')
  call('ZADD', base .. 'marker', math.floor(tonumber(first[2]) / 4096), '1')
  emitIn(base, 'delayed', 'jobId', id, 'delay', due)
end

-- The next number of the counter that names no job yet.
local function freshIn(base)
  while true do
    local id = string.format('%.0f', call('INCR', base .. 'id'))
    if call('EXISTS', base .. id) == 0 then return id end
  end
end

-- Writes a new job and gives it a place. `job`: id, name, data, opts, timestamp, delay, priority, lifo, and for those who
-- have them parentKey and parent (JSON), rjk, deid; `waits` for a parent that waits for children.
local function createIn(base, job)
  local key = base .. job.id
  local delay, priority = tonumber(job.delay) or 0, tonumber(job.priority) or 0
  call('HSET', key, 'name', job.name, 'data', job.data, 'opts', job.opts, 'timestamp', job.timestamp, 'delay', delay,
    'priority', priority)
  if job.parentKey then call('HSET', key, 'parentKey', job.parentKey, 'parent', job.parent) end
  if job.rjk then call('HSET', key, 'rjk', job.rjk) end
  if job.deid then call('HSET', key, 'deid', job.deid) end
  emitIn(base, 'added', 'jobId', job.id, 'name', job.name)
  if job.waits then
    call('ZADD', base .. 'waiting-children', now, job.id)
    emitIn(base, 'waiting-children', 'jobId', job.id)
  elseif delay > 0 then
    placeDelayed(base, job.id, tonumber(job.timestamp) + delay)
  else
    placeReady(base, job.id, priority, job.lifo and 'RPUSH' or 'LPUSH')
    emitIn(base, 'waiting', 'jobId', job.id)
  end
  if job.parentKey then call('SADD', job.parentKey .. ':dependencies', key) end
end

-- Writes the hash of a new job and gives it a place. Plain jobs go onto `plain`, for the caller to push in one go.
-- All numbers come as decimal text or as whole Lua numbers.
local function enqueue(id, name, data, opts, timestamp, delay, priority, plain)
  call('HSET', P .. id, 'name', name, 'data', data, 'opts', opts, 'timestamp', timestamp, 'delay', delay, 'priority',
    priority)
  call('XADD', events, '*', 'event', 'added', 'jobId', id, 'name', name)
  if delay ~= '0' and tonumber(delay) > 0 then
    local due = tonumber(timestamp) + tonumber(delay)
    call('ZADD', K.delayed, delayedScore(due), id)
    emit('delayed', 'jobId', id, 'delay', due)
    return 'delayed'
  end
  if priority ~= '0' and tonumber(priority) > 0 then
    call('ZADD', K.prioritized, prioritizedScore(tonumber(priority)), id)
  else
    plain[#plain + 1] = id
  end
  call('XADD', events, '*', 'event', 'waiting', 'jobId', id)
  return 'waiting'
end

-- The next number that names no job yet: a producer that chose such a number as an id must not be overwritten.
local function freshID(candidate)
  local id = string.format('%.0f', candidate or call('INCR', K.id))
  while call('EXISTS', P .. id) == 1 do id = string.format('%.0f', call('INCR', K.id)) end
  return id
end

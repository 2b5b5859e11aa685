-- Lets jobs run that nobody works on.

-- Brings a finished job back; a parent waits first for children that are open. Options, stack trace and (unless asked) the attempts stay: one that used them all up runs once.
local function runAgain(id, state, resetMade, resetStarted)
  local key = P .. id
  local fields = call('HMGET', key, 'priority', 'opts', 'parentKey')
  call('ZREM', K[state], id)
  call('HDEL', key, 'finishedOn', 'processedOn', 'failedReason', 'returnvalue', 'defa')
  if resetMade then call('HDEL', key, 'atm') end
  if resetStarted then call('HDEL', key, 'ats', 'stc') end
  if fields[3] and call('EXISTS', fields[3]) == 1 then
    call('SADD', fields[3] .. ':dependencies', key)
    call('ZREM', fields[3] .. ':unsuccessful', key)
    call('HDEL', fields[3] .. ':failed', key)
  end
  if call('EXISTS', key .. ':dependencies') == 1 then
    -- Taken now, it could not be completed: children are open, such as one that was brought back before it.
    call('ZADD', P .. 'waiting-children', now, id)
    emit('waiting-children', 'jobId', id, 'prev', state)
    return
  end
  placeReady(P, id, tonumber(fields[1] or '') or 0, decoded(fields[2]).lifo == true and 'RPUSH' or 'LPUSH')
  emit('waiting', 'jobId', id, 'prev', state)
end

-- Makes a delayed job ready before its time.
local function promoteNow(id)
  call('ZREM', K.delayed, id)
  local priority = tonumber(call('HGET', P .. id, 'priority') or '') or 0
  call('HSET', P .. id, 'delay', 0)
  placeReady(P, id, priority, 'LPUSH')
  emit('waiting', 'jobId', id, 'prev', 'delayed')
end

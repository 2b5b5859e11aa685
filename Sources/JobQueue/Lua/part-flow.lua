-- What the end of a child means for its parent. `parent` is JSON {id, queueKey, fpof?, cpof?, idof?, rdof?}; the parent may
-- belong to another queue, whose keys begin with queueKey.

-- Moves a parent on when it still waits for children.
local function releaseParent(base, id, key)
  if call('ZREM', base .. 'waiting-children', id) == 0 then return end
  local fields = call('HMGET', key, 'priority', 'delay')
  local priority, delay = tonumber(fields[1] or '0') or 0, tonumber(fields[2] or '0') or 0
  if delay > 0 then
    call('ZADD', base .. 'delayed', (now + delay) * 4096, id)
    call('ZADD', base .. 'marker', now + delay, '1')
    call('XADD', base .. 'events', '*', 'event', 'delayed', 'jobId', id, 'delay', now + delay)
    return
  end
  if priority > 0 then
    local score = priority * 4294967296 + call('INCR', base .. 'pc') % 4294967296
    call('ZADD', base .. 'prioritized', score, id)
  else
    call('RPUSH', base .. 'wait', id)
  end
  if call('HEXISTS', base .. 'meta', 'paused') == 0 then call('ZADD', base .. 'marker', 0, '0') end
  call('XADD', base .. 'events', '*', 'event', 'waiting', 'jobId', id, 'prev', 'waiting-children')
end

local function tellParent(id, parentText, state, value)
  local parent = decoded(parentText)
  if type(parent.id) ~= 'string' or type(parent.queueKey) ~= 'string' then return end
  local base = parent.queueKey .. ':'
  local key = base .. parent.id
  local child = P .. id
  if call('EXISTS', key) == 0 then return end
  local pending = key .. ':dependencies'
  if state == 'completed' then
    if call('SREM', pending, child) == 1 then
      call('HSET', key .. ':processed', child, value)
      if call('SCARD', pending) == 0 then releaseParent(base, parent.id, key) end
    end
    return
  end
  if parent.fpof then
    if call('SREM', pending, child) == 1 then
      call('ZADD', key .. ':unsuccessful', now, child)
      call('HSET', key, 'defa', 'child ' .. child .. ' failed')
      releaseParent(base, parent.id, key)
    end
  elseif parent.cpof or parent.idof then
    if call('SREM', pending, child) == 1 then
      call('HSET', key .. ':failed', child, value)
      if parent.cpof or call('SCARD', pending) == 0 then releaseParent(base, parent.id, key) end
    end
  elseif parent.rdof then
    if call('SREM', pending, child) == 1 and call('SCARD', pending) == 0 then
      releaseParent(base, parent.id, key)
    end
  end
end

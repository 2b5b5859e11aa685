-- What the end of a child means for its parent. `parent` is JSON {id, queueKey, fpof?, cpof?, idof?, rdof?}; the parent may
-- belong to another queue, whose keys begin with queueKey.
-- include: part-place.lua

-- Moves a parent on when it still waits for children.
local function releaseParent(base, id)
  if call('ZREM', base .. 'waiting-children', id) == 0 then return end
  local fields = call('HMGET', base .. id, 'priority', 'delay')
  local delay = tonumber(fields[2] or '') or 0
  if delay > 0 then
    placeDelayed(base, id, now + delay)
  else
    placeReady(base, id, tonumber(fields[1] or '') or 0, 'RPUSH')
    emitIn(base, 'waiting', 'jobId', id, 'prev', 'waiting-children')
  end
end

-- Lets a parent fail because of a child: whoever takes it next fails it. One that is ready or active stays where it is, its
-- `:unsuccessful` tells.
local function failParent(base, id, child)
  local key, prev = base .. id, 'waiting-children'
  if call('ZREM', base .. 'waiting-children', id) == 0 then
    if call('ZREM', base .. 'delayed', id) == 0 then return end
    prev = 'delayed'
  end
  call('HSET', key, 'defa', 'child ' .. child .. ' failed', 'delay', 0)
  placeReady(base, id, tonumber(call('HGET', key, 'priority') or '') or 0, 'RPUSH')
  emitIn(base, 'waiting', 'jobId', id, 'prev', prev)
end

-- Where a child's parent lies: its base and id, or nothing when the child has none or it is gone.
local function parentOf(parentText)
  if not parentText then return nil end
  local parent = decoded(parentText)
  if type(parent.id) ~= 'string' or type(parent.queueKey) ~= 'string' then return nil end
  local base = parent.queueKey .. ':'
  if call('EXISTS', base .. parent.id) == 0 then return nil end
  return base, parent.id, parent
end

-- A child that goes away without having ended, or whose failure nobody asked about, holds up its parent no longer.
local function unlinkFromParent(child, parentText)
  local base, id = parentOf(parentText)
  if not base then return end
  local pending = base .. id .. ':dependencies'
  if call('SREM', pending, child) == 1 and call('SCARD', pending) == 0 then releaseParent(base, id) end
end

-- `removed` tells that the child leaves nothing behind: then a parent without a rule for failures must not wait for it.
local function tellParent(id, parentText, state, value, removed)
  local base, parentID, parent = parentOf(parentText)
  if not base then return end
  local key, child = base .. parentID, P .. id
  local pending = key .. ':dependencies'
  local rule = parent.fpof or parent.cpof or parent.idof or parent.rdof
  if state ~= 'completed' and not rule and not removed then return end
  if call('SREM', pending, child) == 0 then return end
  if state == 'completed' then
    call('HSET', key .. ':processed', child, value)
  elseif parent.fpof then
    call('ZADD', key .. ':unsuccessful', now, child)
    failParent(base, parentID, child)
    return
  elseif parent.cpof or parent.idof then
    call('HSET', key .. ':failed', child, value)
  end
  if call('SCARD', pending) == 0 or (state == 'failed' and parent.cpof) then releaseParent(base, parentID) end
end

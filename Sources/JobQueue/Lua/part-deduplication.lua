-- Deduplication ids. `de:<id>` names the job that owns one; `dn:<id>` holds the newest job that waits for the end of an active
-- owner (keepLastIfActive).
-- include: part-place.lua

-- Keeps a job for later: it is added when the active owner ends. Only the newest is kept.
local function keepForLater(base, job, owner)
  local nextKey = base .. 'dn:' .. job.deid
  call('DEL', nextKey)
  call('HSET', nextKey, 'name', job.name, 'data', job.data, 'opts', job.opts, 'jid', job.id)
  call('PERSIST', base .. 'de:' .. job.deid)
  emitIn(base, 'deduplicated', 'jobId', owner, 'deduplicationId', job.deid, 'deduplicatedJobId', job.id)
end

-- Claims the deduplication id of a job that is about to be added. `rule`: ttl in ms (0 for none), extend, replace, keepLast.
-- Returns nothing when the job is to be added, or the id of the job that stands for it.
local function deduplicate(base, job, rule)
  local key = base .. 'de:' .. job.deid
  local hasTime = rule.ttl > 0 and not rule.keepLast
  local function own(id)
    if hasTime then call('SET', key, id, 'PX', rule.ttl) else call('SET', key, id) end
  end
  local owner = call('GET', key)
  -- An owner that is gone can never free its id; only a time to live may outlast the job on purpose.
  if owner and call('PTTL', key) == -1 and call('EXISTS', base .. owner) == 0 then
    call('DEL', key, base .. 'dn:' .. job.deid)
    owner = false
  end
  if not owner then
    own(job.id)
    return nil
  end
  if rule.replace and call('ZREM', base .. 'delayed', owner) == 1 then
    local old = base .. owner
    local parent = call('HGET', old, 'parent')
    if parent then unlinkFromParent(old, parent) end
    call('DEL', old, old .. ':logs', old .. ':dependencies', old .. ':processed', old .. ':failed', old .. ':unsuccessful')
    emitIn(base, 'removed', 'jobId', owner, 'prev', 'delayed')
    emitIn(base, 'deduplicated', 'jobId', job.id, 'deduplicationId', job.deid, 'deduplicatedJobId', owner)
    if hasTime and not rule.extend then call('SET', key, job.id, 'KEEPTTL') else own(job.id) end
    return nil
  end
  if rule.keepLast and call('LPOS', base .. 'active', owner) then
    keepForLater(base, job, owner)
    return owner
  end
  if rule.replace then return owner end
  if hasTime and rule.extend then call('SET', key, owner, 'PX', rule.ttl) end
  emitIn(base, 'deduplicated', 'jobId', owner, 'deduplicationId', job.deid, 'deduplicatedJobId', job.id)
  return owner
end

-- Frees the deduplication id of a job that ended, and adds the job that waited for its end.
local function releaseDeduplication(id, deid)
  local key, nextKey = P .. 'de:' .. deid, P .. 'dn:' .. deid
  if call('GET', key) ~= id then return end
  local waiting = call('HMGET', nextKey, 'name', 'data', 'opts', 'jid', 'pk', 'pd', 'rjk')
  if not waiting[1] then
    -- One with a time to live stays until that ends.
    if call('PTTL', key) == -1 then call('DEL', key) end
    return
  end
  call('DEL', nextKey)
  call('INCR', K.id)
  local opts = decoded(waiting[3])
  local job = {
    id = waiting[4], name = waiting[1], data = waiting[2] or '{}', opts = waiting[3] or '{}', timestamp = ARGV[2],
    delay = opts.delay, priority = opts.priority, lifo = opts.lifo, deid = deid, rjk = waiting[7] or nil,
  }
  if not job.id or call('EXISTS', P .. job.id) == 1 then job.id = freshIn(P) end
  if waiting[5] and waiting[6] and call('EXISTS', waiting[5]) == 1 then
    job.parentKey, job.parent = waiting[5], waiting[6]
  end
  call('SET', key, job.id)
  createIn(P, job)
end

-- Frees the deduplication id of a job that goes away without having ended.
local function dropDeduplication(base, id, deid)
  if call('GET', base .. 'de:' .. deid) == id then call('DEL', base .. 'de:' .. deid, base .. 'dn:' .. deid) end
end

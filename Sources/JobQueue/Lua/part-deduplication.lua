-- Frees the deduplication id of a job that ended, and adds the job that waited for its end (keepLastIfActive).
local function releaseDeduplication(id, deid)
  local key = P .. 'de:' .. deid
  local nextKey = P .. 'dn:' .. deid
  if call('GET', key) ~= id then return end
  local waiting = call('HMGET', nextKey, 'name', 'data', 'opts', 'jid')
  if not waiting[1] then
    -- One with a time to live stays until that ends.
    if call('PTTL', key) == -1 then call('DEL', key) end
    return
  end
  call('DEL', nextKey)
  call('INCR', K.id)
  local newID = waiting[4]
  if not newID or call('EXISTS', P .. newID) == 1 then newID = freshID() end
  call('SET', key, newID)
  local opts = decoded(waiting[3])
  local plain = {}
  local place = enqueue(newID, waiting[1], waiting[2] or '{}', waiting[3] or '{}', ARGV[2], tonumber(opts.delay) or 0,
    tonumber(opts.priority) or 0, plain)
  call('HSET', P .. newID, 'deid', deid)
  if #plain > 0 then call('LPUSH', waitList(), newID) end
  if place == 'delayed' then markNextDue() elseif not isBlocked() then wake() end
end

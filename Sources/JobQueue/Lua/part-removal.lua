-- Jobs that go away without having ended.
-- include: part-failure.lua
-- include: part-flow.lua
-- include: part-deduplication.lua

-- Frees what jobs of one queue hold, tells their parents, and deletes their keys. Their ids must have left their state.
local function forget(base, ids)
  local keys = {}
  for _, id in ipairs(ids) do
    local key = base .. id
    local held = call('HMGET', key, 'deid', 'parent')
    if held[1] then dropDeduplication(base, id, held[1]) end
    if held[2] then unlinkFromParent(key, held[2]) end
    for _, suffix in ipairs({'', ':logs', ':dependencies', ':processed', ':failed', ':unsuccessful'}) do
      keys[#keys + 1] = key .. suffix
    end
    if #keys >= 3000 then
      call('DEL', unpack(keys))
      keys = {}
    end
  end
  if #keys > 0 then call('DEL', unpack(keys)) end
end

-- The next runs of all schedulers, as a set of job ids: without them a scheduler would never run again.
local function scheduledIn(base)
  local found = {}
  local entries = call('ZRANGE', base .. 'repeat', 0, -1, 'WITHSCORES')
  for index = 1, #entries, 2 do
    found['repeat:' .. entries[index] .. ':' .. string.format('%.0f', tonumber(entries[index + 1]))] = true
  end
  return found
end

-- Looks at up to `count` ids of a list, from the right end on after `skip` of them, and takes out those for which
-- `shouldGo(id)` holds. Returns the ids taken out and how many were looked at.
local function takeFromList(list, skip, count, shouldGo)
  local last = call('LLEN', list) - 1 - skip
  if last < 0 then return {}, 0 end
  local first = math.max(last - count + 1, 0)
  local ids = call('LRANGE', list, first, last)
  local gone = {}
  for index = #ids, 1, -1 do
    if shouldGo(ids[index]) then
      gone[#gone + 1] = ids[index]
      -- A place holder, because taking out by value would look for each id along the whole list.
      call('LSET', list, first + index - 1, '0:gone')
    end
  end
  if #gone > 0 then call('LREM', list, 0, '0:gone') end
  return gone, #ids
end

-- The same of a sorted set, from its lowest score on, up to the score `most`.
local function takeFromSet(set, skip, count, most, shouldGo)
  local ids = call('ZRANGEBYSCORE', set, '-inf', most, 'LIMIT', skip, count)
  local gone = {}
  for _, id in ipairs(ids) do
    if shouldGo(id) then gone[#gone + 1] = id end
  end
  if #gone > 0 then inChunks('ZREM', set, gone) end
  return gone, #ids
end

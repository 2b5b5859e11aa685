-- Brings back jobs whose worker is gone.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 interval of this check in ms | 4 how often a job may stall | 5 lock duration in ms
-- Returns {ids back in `wait`, how many of them must fail, ids dropped because their hash is gone}.
-- Invariants: one check per interval over all workers; a job is brought back when it has no lock and was marked by the last
--   check, or was taken longer ago than a lock lasts. (The lock is set together with the take, so waiting for a second
--   check would only lose time.) All of `active` is marked, for the workers that wait for a second check.
-- include: part-keys.lua
-- include: part-state.lua
-- include: part-active.lua
-- include: part-failure.lua
if not call('SET', K.check, ARGV[2], 'PX', ARGV[3], 'NX') then return {{}, 0, {}} end
trimEvents()
local marked = {}
for _, id in ipairs(call('SMEMBERS', K.stalled)) do marked[id] = true end
call('DEL', K.stalled)

local lapsed = now - tonumber(ARGV[5])
local wanted, count, recovered, ghosts = {}, 0, {}, {}
local active = call('LRANGE', K.active, 0, -1)
for first = 1, #active, 1000 do
  local locks = {}
  for index = first, math.min(first + 999, #active) do locks[#locks + 1] = P .. active[index] .. ':lock' end
  local held = call('MGET', unpack(locks))
  for offset = 1, #locks do
    local id = active[first + offset - 1]
    if not held[offset] and not wanted[id] then
      local fields = call('HMGET', P .. id, 'name', 'data', 'processedOn')
      local isGhost = not fields[1] and not fields[2]
      local taken = tonumber(fields[3])
      if isGhost or marked[id] or (taken and taken < lapsed) then
        wanted[id] = true
        count = count + 1
        if isGhost then ghosts[#ghosts + 1] = id else recovered[#recovered + 1] = id end
      end
    end
  end
end

local _, cut = findInActive(wanted, count)
cutActive(cut)
local failing = 0
for _, id in ipairs(recovered) do
  local key = P .. id
  local stalls = wholeNumber(call('HGET', key, 'stc')) + 1
  call('HSET', key, 'stc', stalls)
  if stalls > tonumber(ARGV[4]) then
    call('HSET', key, 'defa', 'job stalled more than allowable limit')
    failing = failing + 1
  end
  emit('waiting', 'jobId', id, 'prev', 'active')
  emit('stalled', 'jobId', id)
end
if #recovered > 0 then
  inChunks('RPUSH', waitList(), recovered)
  if not isBlocked() then wake() end
end
local rest = {}
for _, id in ipairs(active) do
  if not wanted[id] then rest[#rest + 1] = id end
end
inChunks('SADD', K.stalled, rest)
return {recovered, failing, ghosts}

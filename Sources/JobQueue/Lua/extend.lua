-- Renews locks.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 lock duration in ms | 4 number of jobs, then for each: id | token
-- Returns the ids whose lock is gone or belongs to another. A missing lock is never made again.
-- include: part-keys.lua
local locks, kept, lost = {}, {}, {}
local count = tonumber(ARGV[4])
for index = 1, count do locks[index] = P .. ARGV[3 + index * 2] .. ':lock' end
local held = call('MGET', unpack(locks))
for index = 1, count do
  local id, token = ARGV[3 + index * 2], ARGV[4 + index * 2]
  if held[index] == token then
    call('SET', locks[index], token, 'PX', ARGV[3])
    kept[#kept + 1] = id
  else
    lost[#lost + 1] = id
  end
end
inChunks('SREM', K.stalled, kept)
return lost

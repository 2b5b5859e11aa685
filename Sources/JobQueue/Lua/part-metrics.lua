-- How many jobs ended in each minute, as dashboards draw it: a hash with the count so far and the count at the last full
-- minute, and a list of points, the newest first.
local function countEnded(state, ended, points)
  if ended == 0 or points <= 0 then return end
  local key = P .. 'metrics:' .. state
  local before = call('HINCRBY', key, 'count', ended) - ended
  local last = call('HMGET', key, 'prevTS', 'prevCount')
  if not last[1] then
    call('HSET', key, 'prevTS', ARGV[2], 'prevCount', '0')
    return
  end
  local minutes = math.min(math.floor(now / 60000) - math.floor(tonumber(last[1]) / 60000), points)
  if minutes <= 0 then return end
  local data = key .. ':data'
  call('LPUSH', data, before - (tonumber(last[2] or '') or 0))
  for _ = 2, minutes do call('LPUSH', data, '0') end
  call('LTRIM', data, 0, points - 1)
  call('HSET', key, 'prevTS', ARGV[2], 'prevCount', before)
end

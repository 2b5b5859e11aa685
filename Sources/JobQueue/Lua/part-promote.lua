-- Moves delayed jobs that are due to where they wait, at most 1000 a call. Runs also while the queue is paused.
local function promote()
  local due = call('ZRANGEBYSCORE', K.delayed, 0, (now + 1) * 4096 - 1, 'LIMIT', 0, 1000)
  if #due == 0 then return end
  inChunks('ZREM', K.delayed, due)
  local plain = {}
  for _, id in ipairs(due) do
    local key = P .. id
    -- An id may name a key of another kind; that is an error with neither field.
    local fields = redis.pcall('HMGET', key, 'priority', 'name')
    -- A job whose hash is gone is dropped here instead of being made again as an empty one.
    if fields[1] or fields[2] then
      local priority = tonumber(fields[1] or '0') or 0
      if priority > 0 then
        call('ZADD', K.prioritized, prioritizedScore(priority), id)
      else
        plain[#plain + 1] = id
      end
      call('HSET', key, 'delay', '0')
      emit('waiting', 'jobId', id, 'prev', 'delayed')
    end
  end
  if #plain > 0 then inChunks('LPUSH', waitList(), plain) end
end

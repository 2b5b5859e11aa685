-- Pauses or resumes the queue, as BullMQ 6 does.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 '1' to pause, '0' to resume
-- Returns 1. Invariants: no list is ever overwritten, so that nothing is lost when clients of BullMQ 5 pause as well.
-- include: part-keys.lua
-- include: part-state.lua
trimEvents()
if ARGV[3] == '1' then
  call('HSET', K.meta, 'paused', 1)
  call('DEL', K.marker)
  emit('paused')
  return 1
end
call('HDEL', K.meta, 'paused')
if call('EXISTS', K.paused) == 1 then
  if call('EXISTS', K.wait) == 0 then
    call('RENAME', K.paused, K.wait)
  else
    -- What waited longer stands at the right end, so it keeps its turn.
    local ids = call('LRANGE', K.paused, 0, -1)
    call('DEL', K.paused)
    inChunks('RPUSH', K.wait, ids)
  end
end
if call('EXISTS', K.wait) == 1 or call('EXISTS', K.prioritized) == 1 then wake() else markNextDue() end
emit('resumed')
return 1

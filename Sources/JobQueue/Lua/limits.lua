-- Sets or clears a limit that holds for all workers of the queue together.
-- KEYS and ARGV 1, 2: see part-keys
-- ARGV 3 'concurrency' or 'rate' | 4 the most jobs at once, or in one window; '' to clear | 5 length of the window in ms
-- Returns 1. Invariants: workers that a stricter limit had sent to sleep are called.
-- include: part-keys.lua
-- include: part-place.lua
if ARGV[3] == 'concurrency' then
  if ARGV[4] == '' then call('HDEL', K.meta, 'concurrency') else call('HSET', K.meta, 'concurrency', ARGV[4]) end
elseif ARGV[4] == '' then
  call('HDEL', K.meta, 'max', 'duration')
else
  call('HSET', K.meta, 'max', ARGV[4], 'duration', ARGV[5])
end
if call('EXISTS', K.wait, K.prioritized) > 0 and not blockedIn(P) then call('ZADD', K.marker, 0, '0') end
return 1

-- How many jobs are in each state.
-- KEYS and ARGV 1, 2: see part-keys
-- Returns {wait, paused, active, prioritized, delayed, completed, failed, waiting-children}.
-- include: part-keys.lua
return {
  call('LLEN', K.wait), call('LLEN', K.paused), call('LLEN', K.active),
  call('ZCARD', K.prioritized), call('ZCARD', K.delayed), call('ZCARD', K.completed),
  call('ZCARD', K.failed), call('ZCARD', P .. 'waiting-children'),
}

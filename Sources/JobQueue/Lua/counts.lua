-- How many jobs are in each state.
-- KEYS and ARGV 1, 2: see part-keys
-- Returns {wait, paused, active, prioritized, delayed, completed, failed, waiting-children}.
-- include: part-keys.lua
return {
  redis.call('LLEN', K.wait), redis.call('LLEN', K.paused), redis.call('LLEN', K.active),
  redis.call('ZCARD', K.prioritized), redis.call('ZCARD', K.delayed), redis.call('ZCARD', K.completed),
  redis.call('ZCARD', K.failed), redis.call('ZCARD', P .. 'waiting-children'),
}

-- The same KEYS and first ARGV for every script of this folder.
-- KEYS 1 wait 2 active 3 prioritized 4 delayed 5 completed 6 failed 7 stalled 8 meta 9 marker 10 events
--      11 pc 12 id 13 limiter 14 paused 15 stalled-check
-- ARGV 1 prefix of every key of the queue, with its last colon  2 now, in ms
-- Keys of jobs are made from the prefix. On a cluster the queue lies in one slot, because prefix or name holds a tag.
local K = {
  wait = KEYS[1], active = KEYS[2], prioritized = KEYS[3], delayed = KEYS[4], completed = KEYS[5],
  failed = KEYS[6], stalled = KEYS[7], meta = KEYS[8], marker = KEYS[9], events = KEYS[10],
  pc = KEYS[11], id = KEYS[12], limiter = KEYS[13], paused = KEYS[14], check = KEYS[15],
}
local P = ARGV[1]
local now = tonumber(ARGV[2])
-- unpack() puts its values on a stack of 8000.
local CHUNK = 4000

-- A local is much cheaper than a look-up in the loops over jobs.
local call = redis.call
local events = K.events

local function emit(name, ...)
  return call('XADD', events, '*', 'event', name, ...)
end

-- One trim a call keeps the stream bounded: a call adds at most a few thousand events.
local function trimEvents()
  local cap = redis.call('HGET', K.meta, 'opts.maxLenEvents')
  if not cap then
    cap = 10000
    redis.call('HSET', K.meta, 'opts.maxLenEvents', cap)
  end
  redis.call('XTRIM', K.events, 'MAXLEN', '~', cap)
end

-- Runs a command on a key with many arguments, a bounded number at a time.
local function inChunks(command, key, list)
  for first = 1, #list, CHUNK do
    redis.call(command, key, unpack(list, first, math.min(first + CHUNK - 1, #list)))
  end
end

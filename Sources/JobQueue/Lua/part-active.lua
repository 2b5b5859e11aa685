-- Checks jobs that a worker wants to let go of, and takes them out of `active` in one pass.

-- jobs: list of {id, token}. Returns a code for each (0 good, -1 no hash, -2 no lock, -3 not active, -6 lock of another)
-- and what `cutActive` needs. Writes nothing.
local function checkHeld(jobs)
  local locks = {}
  for index, job in ipairs(jobs) do locks[index] = P .. job[1] .. ':lock' end
  local held = #locks > 0 and call('MGET', unpack(locks)) or {}
  local codes, wanted, count = {}, {}, 0
  for index, job in ipairs(jobs) do
    local id = job[1]
    if held[index] == job[2] and not wanted[id] then
      codes[index] = 0
      wanted[id] = true
      count = count + 1
    elseif call('EXISTS', P .. id) == 0 then
      codes[index] = -1
    elseif held[index] and held[index] ~= job[2] then
      codes[index] = -6
    else
      codes[index] = -2
    end
  end
  return codes, wanted, count
end

-- Looks for ids from the right end, where the oldest stand, in growing chunks. Writes nothing.
-- Returns the set of those found and the cut: how far to trim, and what to put back.
local function findInActive(wanted, count)
  local found, missing = {}, count
  local cut = {depth = 0, survivors = {}, kept = 0}
  local length = call('LLEN', K.active)
  local seen, chunk = 0, math.max(count, 64)
  while missing > 0 and seen < length do
    local from = math.max(length - seen - chunk, 0)
    local part = call('LRANGE', K.active, from, length - seen - 1)
    for index = #part, 1, -1 do
      local id = part[index]
      if wanted[id] then
        if not found[id] then
          found[id] = true
          missing = missing - 1
        end
        cut.depth = seen + #part - index + 1
        cut.kept = #cut.survivors
      else
        cut.survivors[#cut.survivors + 1] = id
      end
    end
    seen = seen + #part
    chunk = chunk * 2
  end
  return found, cut
end

-- Takes the found ids out: the tail goes away and its other members come back in their order.
local function cutActive(cut)
  if cut.depth == 0 then return end
  call('LTRIM', K.active, 0, -(cut.depth + 1))
  local back = {}
  for index = cut.kept, 1, -1 do back[#back + 1] = cut.survivors[index] end
  inChunks('RPUSH', K.active, back)
end

-- Both checks, and then the release of locks and of the marks of the stalled check. Returns the code for each job.
local function letGo(jobs)
  local codes, wanted, count = checkHeld(jobs)
  local found, cut = findInActive(wanted, count)
  local locks, ids = {}, {}
  for index, job in ipairs(jobs) do
    if codes[index] == 0 then
      if not found[job[1]] then
        codes[index] = -3
      else
        locks[#locks + 1] = P .. job[1] .. ':lock'
        ids[#ids + 1] = job[1]
      end
    end
  end
  cutActive(cut)
  if #ids > 0 then
    call('DEL', unpack(locks))
    call('SREM', K.stalled, unpack(ids))
  end
  return codes
end

-- Checks jobs that a worker wants to let go of, and takes them out of `active`.

-- What LREM looks for after LSET has put it where ids stood: no id has 36 dashes.
local TOMBSTONE = string.rep('-', 36)

-- ids, tokens: lists of the same length. Returns a code for each (0 good, -1 no hash, -2 no lock, -6 lock of another), the
-- keys of the locks, the set of ids that are good so far, and their number. Writes nothing.
local function checkHeld(ids, tokens)
  local count = #ids
  local locks, codes, wanted, good = {}, {}, {}, 0
  for index = 1, count do locks[index] = P .. ids[index] .. ':lock' end
  local held = count > 0 and call('MGET', unpack(locks)) or {}
  for index = 1, count do
    local id = ids[index]
    if held[index] == tokens[index] and not wanted[id] then
      codes[index] = 0
      wanted[id] = true
      good = good + 1
    elseif call('EXISTS', P .. id) == 0 then
      codes[index] = -1
    elseif held[index] and held[index] ~= tokens[index] then
      codes[index] = -6
    else
      codes[index] = -2
    end
  end
  return codes, locks, wanted, good
end

-- Looks for ids from the right end, where the oldest stand, in growing chunks. Writes nothing.
-- Returns the set of those found and the cut: where they stand, counted from the left, and how deep from the right.
local function findInActive(wanted, missing)
  local found, positions, hits, depth = {}, {}, 0, 0
  local length = call('LLEN', K.active)
  local seen, chunk = 0, math.max(missing, 64)
  while missing > 0 and seen < length do
    local from = math.max(length - seen - chunk, 0)
    local part = call('LRANGE', K.active, from, length - seen - 1)
    local size = #part
    for index = size, 1, -1 do
      local id = part[index]
      if wanted[id] then
        if not found[id] then
          found[id] = true
          missing = missing - 1
        end
        hits = hits + 1
        positions[hits] = string.format('%d', from + index - 1)
        depth = seen + size - index + 1
      end
    end
    seen = seen + size
    chunk = chunk * 2
  end
  return found, {positions = positions, depth = depth, wanted = wanted}
end

-- Takes the found ids out. Where most of the tail goes, it is cut off and the rest put back in its order; where the ids stand
-- scattered, as after answers in random order, each is marked in place and all marks leave in one pass.
local function cutActive(cut)
  local active, positions, depth = K.active, cut.positions, cut.depth
  local hits = #positions
  if hits == 0 then return end
  local others = depth - hits
  if others <= hits then
    local back = {}
    if others > 0 then
      local tail = call('LRANGE', active, -depth, -1)
      for index = 1, depth do
        if not cut.wanted[tail[index]] then back[#back + 1] = tail[index] end
      end
    end
    call('LTRIM', active, 0, -(depth + 1))
    inChunks('RPUSH', active, back)
    return
  end
  for index = 1, hits do call('LSET', active, positions[index], TOMBSTONE) end
  call('LREM', active, -hits, TOMBSTONE)
end

-- A job cannot be completed while children of it are open (-4) or after one failed that fails its parent (-9).
-- isEnding(index) tells which jobs are to be completed. Returns how many more codes are not good. Writes nothing.
local function checkChildren(ids, codes, wanted, isEnding)
  local keys = {}
  for index = 1, #ids do
    if codes[index] == 0 and isEnding(index) then
      local key = P .. ids[index]
      keys[#keys + 1] = key .. ':dependencies'
      keys[#keys + 1] = key .. ':unsuccessful'
    end
  end
  -- Most jobs have no children, and one look for all of them tells so.
  if #keys == 0 or call('EXISTS', unpack(keys)) == 0 then return 0 end
  local refused = 0
  for index = 1, #ids do
    if codes[index] == 0 and isEnding(index) then
      local key = P .. ids[index]
      if call('EXISTS', key .. ':dependencies') == 1 then
        codes[index] = -4
      elseif call('EXISTS', key .. ':unsuccessful') == 1 then
        codes[index] = -9
      end
      if codes[index] ~= 0 then
        wanted[ids[index]] = nil
        refused = refused + 1
      end
    end
  end
  return refused
end

-- All checks, and then the release of locks and of the marks of the stalled check. Returns the code for each job.
local function letGo(ids, tokens, isEnding)
  local codes, locks, wanted, good = checkHeld(ids, tokens)
  if isEnding then good = good - checkChildren(ids, codes, wanted, isEnding) end
  local found, cut = findInActive(wanted, good)
  local freed, released, count = {}, {}, 0
  for index = 1, #ids do
    if codes[index] == 0 then
      if not found[ids[index]] then
        codes[index] = -3
      else
        count = count + 1
        freed[count] = locks[index]
        released[count] = ids[index]
      end
    end
  end
  cutActive(cut)
  if count > 0 then
    call('DEL', unpack(freed))
    call('SREM', K.stalled, unpack(released))
  end
  return codes
end

-- Which finished jobs stay. A rule is {count, age in seconds, limit}: count -1 keeps all, 0 keeps none.
-- include: part-flow.lua

-- The job's own wish wins; without one the worker's rule counts.
local function retentionRule(opts, field, fallback)
  -- Most jobs say nothing, and looking for the word is much cheaper than reading the JSON.
  if not opts or not string.find(opts, field, 1, true) then return fallback end
  local wish = decoded(opts)[field]
  if wish == true then return {count = 0} end
  if wish == false then return {count = -1} end
  if type(wish) == 'number' then return {count = math.floor(wish)} end
  if type(wish) == 'table' then
    local count, age, limit = tonumber(wish.count), tonumber(wish.age), tonumber(wish.limit)
    -- From strangers: no fractions, nothing negative, and no more at a time than one call should do.
    return {
      count = count and math.floor(count) or -1,
      age = age and age >= 0 and age or nil,
      limit = limit and math.floor(math.min(math.max(limit, 1), 2000)) or nil,
    }
  end
  return fallback
end

-- Deletes the jobs of finished ids, whose entries have left their set.
local function deleteFinished(set, ids)
  if set == K.completed then return deleteJobs(ids, COMPLETED_PARTS) end
  -- A parent without a rule for failures still waits for such a child.
  for _, id in ipairs(ids) do
    local parent = call('HGET', P .. id, 'parent')
    if parent then unlinkFromParent(P .. id, parent) end
  end
  deleteJobs(ids)
end

-- Removes the oldest of a set by age and by count, a bounded number a call, and exactly the jobs whose entries go.
local function evict(set, rule)
  local most = rule.limit or 1000
  if rule.age then
    local old = call('ZRANGEBYSCORE', set, '-inf', now - rule.age * 1000, 'LIMIT', 0, most)
    if #old > 0 then
      inChunks('ZREM', set, old)
      deleteFinished(set, old)
    end
  end
  if rule.count >= 0 then
    local excess = math.min(call('ZCARD', set) - rule.count, 2000)
    if excess > 0 then
      local old = call('ZRANGE', set, 0, excess - 1)
      call('ZREMRANGEBYRANK', set, 0, excess - 1)
      deleteFinished(set, old)
    end
  end
end

-- The traces of a job's failed attempts, oldest first, with the newest added: at most opts.stackTraceLimit, else 3.
local function withTrace(stored, trace, opts)
  local limit = tonumber(opts.stackTraceLimit) or 3
  if limit <= 0 then return '[]' end
  local good, list = pcall(cjson.decode, stored or '[]')
  if not good or type(list) ~= 'table' then list = {} end
  list[#list + 1] = trace
  while #list > limit do table.remove(list, 1) end
  return cjson.encode(list)
end

-- Options come from strangers: what cannot be read counts as none.
local function decoded(opts)
  local good, value = pcall(cjson.decode, opts or '{}')
  if good and type(value) == 'table' then return value end
  return {}
end

-- A field of a job as a number that can be counted on: 0 when it is missing, negative, or none at all.
local function wholeNumber(field)
  local value = tonumber(field)
  if not value or not (value >= 0 and value <= 9007199254740991) then return 0 end
  return math.floor(value)
end

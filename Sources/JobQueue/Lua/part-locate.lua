-- The state of a job as dashboards compute it, or 'unknown'.
local function locate(id)
  if call('ZSCORE', K.completed, id) then return 'completed' end
  if call('ZSCORE', K.failed, id) then return 'failed' end
  if call('ZSCORE', K.delayed, id) then return 'delayed' end
  if call('ZSCORE', K.prioritized, id) then return 'prioritized' end
  if call('ZSCORE', P .. 'waiting-children', id) then return 'waiting-children' end
  if call('LPOS', K.active, id) then return 'active' end
  if call('LPOS', K.wait, id) then return 'waiting' end
  if call('LPOS', K.paused, id) then return 'paused' end
  return 'unknown'
end

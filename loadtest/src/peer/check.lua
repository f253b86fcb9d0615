#!lua name=interlock_peer
-- The rules of a contact check as far as Redis can hold them, one hash or string for each entity:
--
--   e:<effect key>  "<state> <attempt> <reserved at> <agent>"
--   c:<customer>    s:<purpose> and s:any (suppressions), owner, w:<purpose> (times of contacts)
--   o:<object>      owner, l:<task>
--
-- An owner and a lock read "<until> <rank> <holder>". Times are milliseconds of 13 digits, so the
-- times of a window stand one after the other without anything between them. The numbers in angle
-- brackets are put in before the library is loaded. Everything a check reads or writes is named in
-- KEYS; a call of Redis is atomic, and its writes are in the append-only file as one transaction.

local LIMIT, WINDOW, LEASE = <LIMIT>, <WINDOW_MS>, <LEASE_MS>

local function clock()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- Who else holds a thing now: "<holder> <until>", or nothing.
local function held_by_another(hold, agent, now)
  if not hold then return nil end
  local till, _, holder = string.match(hold, '^(%d+) (%d+) (.+)$')
  if tonumber(till) <= now or holder == agent then return nil end
  return holder .. ' ' .. till
end

local function decide(effect, customer, object, agent, purpose, task, now)
  local attempt = 1
  local reserved = redis.call('GET', effect)
  if reserved then
    local state, number, at = string.match(reserved, '^(%S+) (%d+) (%d+)')
    if state == 'done' then return 'deny effect_done' end
    if state == 'reserved' and now < tonumber(at) + LEASE then
      return 'deny effect_in_flight'
    end
    if state ~= 'failed' then return 'deny effect_unknown_outcome' end
    attempt = tonumber(number) + 1
  end

  local of_customer = redis.call('HMGET', customer, 's:' .. purpose, 's:any', 'owner', 'w:' .. purpose)
  if of_customer[1] or of_customer[2] then return 'deny suppressed' end
  local of_object = redis.call('HMGET', object, 'owner', 'l:' .. task)
  local owner = held_by_another(of_customer[3], agent, now) or held_by_another(of_object[1], agent, now)
  if owner then return 'defer owner_active ' .. owner end
  local lock = held_by_another(of_object[2], agent, now)
  if lock then return 'defer lock_held ' .. lock end

  local times = of_customer[4] or ''
  local first = 1
  while first < #times and tonumber(string.sub(times, first, first + 12)) + WINDOW <= now do
    first = first + 13
  end
  local used = (#times - first + 1) / 13
  if used >= LIMIT then
    local at = #times - 13 * LIMIT + 1
    return string.format('deny budget_exhausted %.0f', tonumber(string.sub(times, at, at + 12)) + WINDOW)
  end
  redis.call('SET', effect, string.format('reserved %d %.0f %s', attempt, now, agent))
  redis.call('HSET', customer, 'w:' .. purpose, string.sub(times, first) .. string.format('%.0f', now))
  return string.format('allow %d %d', attempt, LIMIT - used - 1)
end

-- One check: effect, customer, object; agent, purpose, task.
redis.register_function('check', function(keys, args)
  return decide(keys[1], keys[2], keys[3], args[1], args[2], args[3], clock())
end)

-- Many checks in one call, decided in their order: the keys of each, one after the other; the
-- purpose, then agent and task of each.
redis.register_function('checks', function(keys, args)
  local now, answers = clock(), {}
  for place = 1, #keys / 3 do
    local key, arg = 3 * place - 2, 2 * place
    answers[place] = decide(keys[key], keys[key + 1], keys[key + 2], args[arg], args[1], args[arg + 1], now)
  end
  return answers
end)

-- Says how an effect ended: effect; state.
redis.register_function('settle', function(keys, args)
  local reserved = redis.call('GET', keys[1])
  local state, rest = string.match(reserved or '', '^(%S+) (.+)$')
  if not state or state == 'done' then return 0 end
  redis.call('SET', keys[1], args[1] .. ' ' .. rest)
  return 1
end)

redis.register_function('suppress', function(keys, args)
  return redis.call('HSET', keys[1], 's:' .. args[1], '1')
end)

-- Takes an entity, or a task of an object, unless another holds it with the same rank or a stricter
-- one (a lower number): entity; field, holder, rank, milliseconds of the lease.
redis.register_function('hold', function(keys, args)
  local now, hold = clock(), redis.call('HGET', keys[1], args[1])
  if held_by_another(hold, args[2], now) then
    local rank = string.match(hold, '^%d+ (%d+)')
    if tonumber(rank) <= tonumber(args[3]) then return 0 end
  end
  redis.call('HSET', keys[1], args[1], string.format('%.0f %s %s', now + tonumber(args[4]), args[3], args[2]))
  return 1
end)

-- Holds an id to one digest. KEYS[1]; ARGV: the value, ms for which it is held.
-- Returns 1 if that value is bound, now or before; 2 if another is.
local value = redis.call('GET', KEYS[1])
if not value then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1
end
if string.sub(value, 1, 2) ~= '1b' then
  return redis.error_reply('SEMEL not a record of this version')
end
if value ~= ARGV[1] then return 2 end
redis.call('SETRANGE', KEYS[1], '0', '1') -- So that a WAIT behind it covers it.
return 1

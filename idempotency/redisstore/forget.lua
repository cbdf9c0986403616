-- Frees a key whatever its state. KEYS[1]; ARGV: ms for which that is
-- remembered. Returns 1 if there was anything, 2 if there was not.
local value = redis.call('GET', KEYS[1])
if not value then return 2 end
local state = string.sub(value, 1, 2)
if state ~= '1c' and state ~= '1d' and state ~= '1u' and state ~= '1f' then
  return redis.error_reply('SEMEL not a record of this version')
end
local ttl = ARGV[1]
if state == '1f' then
  local left = redis.call('PTTL', KEYS[1])
  if left > tonumber(ttl) then ttl = string.format('%.0f', left) end
end
redis.call('SET', KEYS[1], '1f-0' .. string.sub(value, 5, 46) .. '0000000000000000', 'PX', ttl)
if string.sub(value, 3, 3) == 'w' then
  redis.pcall('PUBLISH', KEYS[1], '')
end
return 1

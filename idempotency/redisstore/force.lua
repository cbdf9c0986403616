-- Records an outcome whatever the state of the key, unless it is completed.
-- KEYS[1]; ARGV: the value, retention in ms. Returns 1 if it is stored, now or
-- before; 2 if the key was completed.
local value = redis.call('GET', KEYS[1])
local last, flag = 0, '-'
if value then
  local state = string.sub(value, 1, 2)
  if state == '1d' then
    -- A copy of this request, if all but the fence is the same.
    if string.sub(value, 4, 20) == string.sub(ARGV[1], 4, 20) and string.sub(value, 37) == string.sub(ARGV[1], 37) then
      redis.call('SETRANGE', KEYS[1], '0', '1') -- So that a WAIT behind it covers it.
      return 1
    end
    return 2
  end
  if state ~= '1c' and state ~= '1u' and state ~= '1f' then
    return redis.error_reply('SEMEL not a record of this version')
  end
  last, flag = tonumber(string.sub(value, 21, 36)), string.sub(value, 3, 3)
end
local fence = tonumber(string.sub(ARGV[1], 21, 36))
if fence <= last then
  local now = redis.call('TIME')
  fence = math.max(last + 1, now[1] * 1000000 + now[2])
end
redis.call('SET', KEYS[1], string.sub(ARGV[1], 1, 20) .. string.format('%016.0f', fence) .. string.sub(ARGV[1], 37), 'PX', ARGV[2])
if flag == 'w' then
  redis.pcall('PUBLISH', KEYS[1], '')
end
return 1

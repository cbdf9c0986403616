-- Arms a held key anew. KEYS[1]; ARGV: nonce, TTL in ms, number of fences to
-- reserve. Returns 2 * first fence (1 if none was reserved), plus 1 if somebody
-- waits; -1 if the nonce no longer holds the key; -2 if another does.
local value = redis.call('GET', KEYS[1])
if not value then return -1 end
local state = string.sub(value, 1, 6)
local mine = string.sub(value, 55) == ARGV[1]
if state ~= '1 held' or not mine then
  if mine or state == '1 free' then return -1 end
  return -2
end
local first = 1
if ARGV[3] ~= '0' then
  local now = redis.call('TIME')
  first = math.max(tonumber(string.sub(value, 10, 25)) + 1, now[1] * 1000000 + now[2])
  redis.call('SETRANGE', KEYS[1], '9', string.format('%016.0f', first + ARGV[3] - 1))
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
if string.sub(value, 8, 8) == 'w' then
  return 2 * first + 1
end
return 2 * first

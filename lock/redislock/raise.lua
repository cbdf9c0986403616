-- Lifts the last fence of a held key. KEYS[1]; ARGV: nonce, fence. Returns 1;
-- -1 if the nonce no longer holds the key; -2 if another does.
local value = redis.call('GET', KEYS[1])
if not value then return -1 end
local state = string.sub(value, 1, 6)
local mine = string.sub(value, 55) == ARGV[1]
if state ~= '1 held' or not mine then
  if mine or state == '1 free' then return -1 end
  return -2
end
local fence = tonumber(ARGV[2])
if fence >= 2 ^ 52 then return redis.error_reply('SEMEL fence out of range') end
local last = math.max(tonumber(string.sub(value, 10, 25)), fence)
-- Written even if it is not greater, so that a WAIT behind it covers it. Block
-- 0 says that no release may set the fence back.
redis.call('SETRANGE', KEYS[1], '9', string.format('%016.0f', last))
redis.call('SETRANGE', KEYS[1], '43', '0000000000')
return 1

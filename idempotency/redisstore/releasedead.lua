-- Frees a key whose owner is gone. KEYS[1]; ARGV: the owner's nonce, ms for
-- which that is remembered. Returns 1 if the nonce had claimed it or its outcome
-- was unknown, else 2.
local value = redis.call('GET', KEYS[1])
if not value then return 2 end
local state = string.sub(value, 1, 2)
if state == '1u' or state == '1c' and string.sub(value, 5, 20) == ARGV[1] then
  redis.call('SET', KEYS[1], '1f-0' .. string.sub(value, 5, 46) .. '0000000000000000', 'PX', ARGV[2])
  if string.sub(value, 3, 3) == 'w' then
    redis.pcall('PUBLISH', KEYS[1], '')
  end
  return 1
end
if state == '1c' or state == '1d' or state == '1f' then return 2 end
return redis.error_reply('SEMEL not a record of this version')

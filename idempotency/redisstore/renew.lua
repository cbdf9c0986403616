-- Arms a claim anew. KEYS[1]; ARGV: nonce, lease in ms. Returns 1; -1 if the
-- key is absent or free; -2 if anything else owns it.
local value = redis.call('GET', KEYS[1])
if not value then return -1 end
local state = string.sub(value, 1, 2)
if state == '1c' and string.sub(value, 5, 20) == ARGV[1] then
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return 1
end
if state == '1f' then return -1 end
if state == '1c' or state == '1d' or state == '1u' then return -2 end
return redis.error_reply('SEMEL not a record of this version')

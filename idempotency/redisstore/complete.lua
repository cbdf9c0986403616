-- Records an outcome. KEYS[1]; ARGV: the value, retention in ms. Returns 1 if it
-- is stored, now or before; 3 if the claim was over and it is stored all the
-- same; -1 if the key is free or this nonce's outcome was declared unknown; -2
-- if another owns the key or completed it.
local value = redis.call('GET', KEYS[1])
if not value then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 3
end
local state = string.sub(value, 1, 2)
local mine = string.sub(value, 5, 20) == string.sub(ARGV[1], 5, 20)
if state == '1c' and mine then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  if string.sub(value, 3, 3) == 'w' then
    -- A user without the channel must not fail a completion that has happened.
    redis.pcall('PUBLISH', KEYS[1], '')
  end
  return 1
end
if state == '1d' and mine then
  redis.call('SETRANGE', KEYS[1], '0', '1') -- So that a WAIT behind it covers it.
  return 1
end
if state == '1f' or state == '1u' and mine then return -1 end
if state == '1c' or state == '1d' or state == '1u' then return -2 end
return redis.error_reply('SEMEL not a record of this version')

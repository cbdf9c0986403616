-- Ends a claim. KEYS[1]; ARGV: nonce, ms for which what remains is remembered,
-- ms for which nobody may claim the key, 'u' to declare the outcome unknown or
-- 'c' to compensate. Returns 1 if the claim is over, now or before; -1 if nobody
-- had it; -2 if another has, or the key is completed.
local value = redis.call('GET', KEYS[1])
local state, mine = '', false
if value then
  state = string.sub(value, 1, 2)
  mine = string.sub(value, 5, 20) == ARGV[1]
end

if mine and state == '1c' then
  if ARGV[4] == 'u' then
    redis.call('SETRANGE', KEYS[1], '1', 'u-')
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  else
    local attempt, from = string.sub(value, 37, 46), '0000000000000000'
    if ARGV[4] == 'c' then
      attempt = string.format('%010.0f', tonumber(attempt) - 1)
    end
    if ARGV[3] ~= '0' then
      local now = redis.call('TIME')
      from = string.format('%016.0f', now[1] * 1000000 + now[2] + ARGV[3] * 1000)
    end
    redis.call('SET', KEYS[1], '1f-0' .. string.sub(value, 5, 36) .. attempt .. from, 'PX', ARGV[2])
  end
  if string.sub(value, 3, 3) == 'w' then
    -- A user without the channel must not fail a release that has happened.
    redis.pcall('PUBLISH', KEYS[1], '')
  end
  return 1
end

if mine and (state == '1f' or state == '1u') then
  redis.call('SETRANGE', KEYS[1], '0', '1') -- So that a WAIT behind it covers it.
  return 1
end
if value and state ~= '1f' then
  if state == '1c' or state == '1d' or state == '1u' then return -2 end
  return redis.error_reply('SEMEL not a record of this version')
end
if ARGV[4] ~= 'c' then return -1 end
-- The copy of a Begin that is still under way is to find its nonce spent.
if not value then
  redis.call('SET', KEYS[1], '1f-0' .. ARGV[1] .. string.rep('0', 42), 'PX', ARGV[2])
  return 1
end
redis.call('SETRANGE', KEYS[1], '4', ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1

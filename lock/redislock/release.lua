-- Gives a key back. KEYS[1]; ARGV: nonce, TTL of what remains in ms, last fence
-- that was given out or 0, and then, if needed, for how many ms to keep the key
-- or 0, and 'c' to compensate. Returns 1 if it is given back, now or before; -1
-- if nobody owned it; -2 if another does.
local value = redis.call('GET', KEYS[1])
local state, mine = '', false
if value then
  state = string.sub(value, 1, 6)
  mine = string.sub(value, 55) == ARGV[1]
end

if mine and state == '1 held' then
  local rest = string.sub(value, 10)
  local last = string.sub(value, 10, 25)
  if ARGV[3] ~= last and ARGV[3] ~= '0' and string.sub(value, 44, 53) ~= '0000000000' then
    local fence = tonumber(ARGV[3])
    if fence >= tonumber(string.sub(value, 27, 42)) and fence < tonumber(last) then
      rest = string.format('%016.0f', fence) .. string.sub(value, 26)
    end
  end
  if not ARGV[4] or ARGV[4] == '0' then
    redis.call('SET', KEYS[1], '1 free - ' .. rest, 'PX', ARGV[2])
  else
    redis.call('SET', KEYS[1], '1 kept - ' .. rest, 'PX', ARGV[4])
  end
  if string.sub(value, 8, 8) == 'w' then
    -- Also if it is kept: those who wait were told another remaining time.
    -- A user without the channel must not fail a release that has happened.
    redis.pcall('PUBLISH', KEYS[1], '')
  end
  return 1
end

if mine then return 1 end
if value and state ~= '1 free' then return -2 end
if ARGV[5] ~= 'c' then return -1 end
-- The copy of an acquire that is still under way is to find its nonce spent.
local last = '0000000000000000'
local ttl = ARGV[2]
if value then
  last = string.sub(value, 10, 25)
  local left = redis.call('PTTL', KEYS[1])
  if left > tonumber(ttl) then ttl = string.format('%.0f', left) end
end
redis.call('SET', KEYS[1], '1 free - ' .. last .. ' 0000000000000000 0000000000 ' .. ARGV[1], 'PX', ttl)
return 1

-- Claims a key. KEYS[1]; ARGV: the value up to its nonce, lease in ms, 'w' if the
-- asker will wait, and what follows the value's attempt. Returns 'g', fence and
-- attempt of the claim; 's' if the nonce is spent; otherwise 'v', for how many
-- ms more (16 digits) and the value that is in the way.
local value = redis.call('GET', KEYS[1])
local now = nil
local last, attempt = 0, '0000000001'
if value then
  local state = string.sub(value, 1, 2)
  if state == '1d' or state == '1u' then
    return 'v' .. string.format('%016.0f', redis.call('PTTL', KEYS[1])) .. value
  end
  local mine = string.sub(value, 5, 20) == string.sub(ARGV[1], 5, 20)
  local left = 0
  if state == '1c' then
    left = redis.call('PTTL', KEYS[1])
    if mine then
      -- A copy of the request that made the claim. It may have been renewed
      -- since, for longer than the copy asks: never shorten it. Something is
      -- written in any case, so that a WAIT behind it covers the claim.
      local lease = ARGV[2]
      if left > tonumber(lease) then lease = string.format('%.0f', left) end
      redis.call('PEXPIRE', KEYS[1], lease)
      return 'g' .. string.sub(value, 21, 46)
    end
  elseif state ~= '1f' then
    return redis.error_reply('SEMEL not a record of this version')
  elseif mine then
    return 's'
  else
    now = redis.call('TIME')
    left = math.ceil((tonumber(string.sub(value, 47, 62)) - (now[1] * 1000000 + now[2])) / 1000)
  end
  if state == '1c' or left > 0 then
    if ARGV[3] == 'w' and string.sub(value, 3, 3) == '-' then
      redis.call('SETRANGE', KEYS[1], '2', 'w')
    end
    return 'v' .. string.format('%016.0f', left) .. value
  end
  last = tonumber(string.sub(value, 21, 36))
  attempt = string.format('%010.0f', math.min(tonumber(string.sub(value, 37, 46)) + 1, 4294967295))
end

-- Lua's .. and tostring keep 14 digits of a number, and the clock has 16: the
-- text is made of the server's own, or by format.
now = now or redis.call('TIME')
local fence = now[1] .. now[2]
if #fence ~= 16 then
  fence = now[1] .. string.sub('00000' .. now[2], -6)
end
if #fence < 16 or tonumber(fence) <= last then
  fence = string.format('%016.0f', math.max(tonumber(fence), last + 1))
end
local grant = fence .. attempt
redis.call('SET', KEYS[1], ARGV[1] .. grant .. ARGV[4], 'PX', ARGV[2])
return 'g' .. grant

-- Acquires a key. KEYS[1]; ARGV: nonce, TTL in ms, block (10 digits), and 'w' if
-- the asker will wait. Returns the first fence of the grant; -1 if the nonce is
-- spent; -2 - t if another holds or keeps the key for t ms more.
local value = redis.call('GET', KEYS[1])
local last
if value then
  local state = string.sub(value, 1, 6)
  local mine = string.sub(value, 55) == ARGV[1]
  if state == '1 free' then
    if mine then return -1 end
    last = string.sub(value, 10, 25)
  elseif state ~= '1 held' and state ~= '1 kept' then
    return redis.error_reply('SEMEL not a lock')
  elseif not mine then
    if ARGV[4] == 'w' and string.sub(value, 8, 8) == '-' then
      redis.call('SETRANGE', KEYS[1], '7', 'w')
    end
    local left = redis.call('PTTL', KEYS[1])
    if left < 0 then left = 1000 end -- somebody took the expiry away; ask again
    return -2 - left
  elseif state == '1 kept' then
    return -1
  else
    -- A copy of the request that made the grant. The lease may have been
    -- extended since, for longer than the copy asks: never shorten it. Something
    -- is written in any case, so that a WAIT behind it covers the grant.
    local ttl, left = ARGV[2], redis.call('PTTL', KEYS[1])
    if left > tonumber(ttl) then ttl = string.format('%.0f', left) end
    redis.call('PEXPIRE', KEYS[1], ttl)
    return string.sub(value, 27, 42)
  end
end

-- Lua's .. and tostring keep 14 digits of a number, and the clock has 16. So a
-- fence is text, made of the server's own digits or else by format; two of them
-- compare as numbers do, having the same length. Numbers of it are made with
-- tonumber: in arithmetic some servers take leading zeros for octal.
local now = redis.call('TIME')
local first = now[1] .. string.sub('00000' .. now[2], -6)
if #first < 16 or last and first <= last then
  first = string.format('%016.0f', math.max(tonumber(first), tonumber(last or 0) + 1))
end
local ends = first
if ARGV[3] ~= '0000000001' then
  ends = string.format('%016.0f', tonumber(first) + tonumber(ARGV[3]) - 1)
end
redis.call('SET', KEYS[1], '1 held - ' .. ends .. ' ' .. first .. ' ' .. ARGV[3] .. ' ' .. ARGV[1], 'PX', ARGV[2])
return first

-- Frees a key whoever owns it and spends the owner's nonce for as long as the
-- owner's claim would have lasted. KEYS[1]. Returns 1 if there was an owner,
-- and 2 if there was none.
local value = redis.call('GET', KEYS[1])
if not value then return 2 end
local state = string.sub(value, 1, 6)
if state == '1 free' then return 2 end
if state ~= '1 held' and state ~= '1 kept' then
  return redis.error_reply('SEMEL not a lock')
end
redis.call('SETRANGE', KEYS[1], '2', 'free -')
if string.sub(value, 8, 8) == 'w' then
  redis.pcall('PUBLISH', KEYS[1], '')
end
return 1

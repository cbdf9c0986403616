-- Returns what KEYS[1] holds: its TTL in ms (-2 if there is nothing), in how
-- many ms it may be claimed, its length, and its value. ARGV: 'h' leaves out a
-- completed record's body.
local left = redis.call('PTTL', KEYS[1])
if left == -2 then return {left, 0, 0, ''} end
local value = redis.call('GETRANGE', KEYS[1], '0', '93')
local size = redis.call('STRLEN', KEYS[1])
local state = string.sub(value, 1, 2)
local wait, want = 0, size
if state == '1f' then
  local now = redis.call('TIME')
  wait = math.ceil((tonumber(string.sub(value, 47, 62)) - (now[1] * 1000000 + now[2])) / 1000)
elseif state == '1d' and ARGV[1] == 'h' and size >= 58 then
  local shape = string.byte(value, 4) - 48
  want = 58
  if shape % 2 == 1 then want = 90 end
  if shape >= 2 and size >= want + 4 then
    local a, b, c, d = string.byte(value, want + 1, want + 4)
    want = want + 4 + ((a * 256 + b) * 256 + c) * 256 + d
  end
end
if want > 94 then
  value = redis.call('GETRANGE', KEYS[1], '0', want - 1)
end
return {left, math.max(wait, 0), size, string.sub(value, 1, want)}

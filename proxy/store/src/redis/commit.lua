-- Makes every change, or none. A record is the eight bytes of its version and its value.
-- ARGV: the deadline in microseconds of this server's clock, after which the caller no longer waits; the new
-- version; then for each key what is expected ('*': anything, '': nothing there, else a version), how many milliseconds
-- the value is kept (0: it is deleted), and the value.
-- Answers {0} if they were made, {-2} if it is too late, or {which did not find what it expected, what it found}.
local time = redis.call('TIME')
if time[1] * 1000000 + time[2] > tonumber(ARGV[1]) then
  return {-2}
end

for i, key in ipairs(KEYS) do
  local expected = ARGV[3 * i]
  if expected ~= '*' then
    local found = redis.call('GET', key)
    if (found and string.sub(found, 1, 8) or '') ~= expected then
      return {i, found}
    end
  end
end

-- A server out of memory refuses the first write that needs some, and nothing after a write: so never in between.
for i, key in ipairs(KEYS) do
  local keeps = ARGV[3 * i + 1]
  if keeps ~= '0' then
    redis.call('SET', key, ARGV[2] .. ARGV[3 * i + 2], 'PX', keeps)
  end
end
for i, key in ipairs(KEYS) do
  if ARGV[3 * i + 1] == '0' then
    redis.call('DEL', key)
  end
end
return {0}

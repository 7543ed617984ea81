-- Takes the same amount from every count in KEYS, or from none.
-- ARGV: the deadline in microseconds of this server's clock, after which the caller no longer waits; how much is
-- wanted; how much is enough; then for each key the most there may be, its window in milliseconds, and 1 if the window
-- ends after the last use.
-- Answers {granted, or -1 if refused, or -2 if it is too late}, and for each key: used, milliseconds left, period.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[1]) then
  return {-2}
end

local granted = tonumber(ARGV[2])
local used, left, period = {}, {}, {}
for i, key in ipairs(KEYS) do
  local most, length = tonumber(ARGV[3 * i + 1]), tonumber(ARGV[3 * i + 2])
  local count = redis.call('HMGET', key, 'used', 'period')
  used[i], period[i] = tonumber(count[1]) or 0, tonumber(count[2]) or 0
  left[i] = length
  if count[1] then
    local ttl = redis.call('PTTL', key)
    -- Longer where the limit's window was longer when it began; -1 if the expiry was removed.
    if ttl >= 0 and ttl <= length then
      left[i] = ttl
    else
      redis.call('PEXPIRE', key, length)
    end
  end
  granted = math.min(granted, math.max(most - used[i], 0))
end
if granted < tonumber(ARGV[3]) then
  granted = -1
end

local answer = {granted}
for i, key in ipairs(KEYS) do
  if granted > 0 then
    local length, idle = ARGV[3 * i + 2], ARGV[3 * i + 3] == '1'
    used[i] = used[i] + granted
    if period[i] == 0 then
      period[i] = now
      redis.call('HSET', key, 'used', string.format('%.0f', used[i]), 'period', string.format('%.0f', now))
    else
      redis.call('HSET', key, 'used', string.format('%.0f', used[i]))
    end
    if idle or period[i] == now then
      redis.call('PEXPIRE', key, length)
      left[i] = tonumber(length)
    end
  end
  answer[#answer + 1] = used[i]
  answer[#answer + 1] = left[i]
  answer[#answer + 1] = period[i]
end
return answer

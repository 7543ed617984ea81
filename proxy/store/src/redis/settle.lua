-- Corrects the counts in KEYS. ARGV for each: the period it was taken in, by how much, and how many milliseconds a
-- window lasts that ends after the last use (0: it does not). A window that has ended since is left alone.
for i, key in ipairs(KEYS) do
  local by, idle = tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  local count = redis.call('HMGET', key, 'used', 'period')
  if count[2] == ARGV[3 * i - 2] then
    local used = math.min(math.max(tonumber(count[1]) + by, 0), 2 ^ 53)
    redis.call('HSET', key, 'used', string.format('%.0f', used))
    if idle > 0 then
      redis.call('PEXPIRE', key, idle)
    end
  end
end
return 0

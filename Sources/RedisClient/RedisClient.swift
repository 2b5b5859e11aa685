// RedisClient: see docs/modules.md

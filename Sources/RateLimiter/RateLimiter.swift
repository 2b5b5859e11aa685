// RateLimiter: see docs/modules.md

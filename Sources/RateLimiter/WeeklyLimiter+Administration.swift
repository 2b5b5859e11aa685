import RedisClient

extension WeeklyLimiter {
    /// How many slots a user has used in a week.
    public func usage(
        userID: String,
        weekKey: String,
        categoryIDs: [String]
    ) async throws(RateLimiterError) -> SlotUsage {
        let numbers = try await asking { () async throws(RedisError) in
            try await redis.run(
                LimiterScripts.usage,
                keys: categoryIDs.map { keys.category(user: userID, category: $0, week: weekKey) }
                    + [keys.global(user: userID, week: weekKey)],
                arguments: []
            ).requireArray("usage").map { $0.int ?? 0 }
        }
        return SlotUsage(
            categories: Dictionary(zip(categoryIDs, numbers)) { first, _ in first },
            global: numbers.last ?? 0
        )
    }

    /// Forgets every slot of a user in the given weeks. Keys older than eight days are gone by themselves, so the last, the
    /// present and the next week are all there can be.
    public func reset(userID: String, weekKeys: [String], categoryIDs: [String]) async throws(RateLimiterError) {
        let names = weekKeys.flatMap { week in
            categoryIDs.map { keys.category(user: userID, category: $0, week: week) }
                + [keys.global(user: userID, week: week)]
        }
        guard !names.isEmpty else { return }
        try await asking { () async throws(RedisError) in
            _ = try await redis.send(RedisCommand(["UNLINK"] + names))
        }
    }

    /// Runs `body` and tells its error in the limiter's own terms.
    func asking<Value>(
        _ body: () async throws(RedisError) -> Value
    ) async throws(RateLimiterError) -> Value {
        do throws(RedisError) {
            return try await body()
        } catch {
            throw RateLimiterError(description: error.description)
        }
    }
}

package import NotificationContract
package import Notifications
package import RateLimiter

/// Weekly slots as the rate limiter keeps them.
package struct LimiterCaps: WeeklyCaps {
    private let limiter: WeeklyLimiter

    package init(_ limiter: WeeklyLimiter) {
        self.limiter = limiter
    }

    package func usage(of user: UserID, categories: [CategoryID], weekKey: String) async throws -> CapUsage {
        let usage = try await asking {
            () async throws(RateLimiterError) in
            try await limiter.usage(
                userID: user.rawValue,
                weekKey: weekKey,
                categoryIDs: categories.map(\.rawValue)
            )
        }
        return CapUsage(
            categories: Dictionary(
                uniqueKeysWithValues: usage.categories.map { (CategoryID($0.key), $0.value) }
            ),
            global: usage.global
        )
    }

    package func clear(user: UserID, categories: [CategoryID], weekKeys: [String]) async throws {
        try await asking {
            () async throws(RateLimiterError) in
            try await limiter.reset(
                userID: user.rawValue,
                weekKeys: weekKeys,
                categoryIDs: categories.map(\.rawValue)
            )
        }
    }

    private func asking<Value>(_ body: () async throws(RateLimiterError) -> Value) async throws -> Value {
        do throws(RateLimiterError) {
            return try await body()
        } catch {
            throw Unavailable(dependency: "caps", reason: error.description)
        }
    }
}

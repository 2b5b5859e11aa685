package import DeliveryEngine
import NotificationContract
import Notifications
package import RateLimiter

/// The engine's caps port over the weekly limiter.
package struct CapAdapter: CapTaking {
    private let limiter: WeeklyLimiter

    package init(limiter: WeeklyLimiter) {
        self.limiter = limiter
    }

    package func take(_ claims: [CapClaim]) async -> [CapAnswer] {
        await limiter.take(claims.map(Self.request)).map { result in
            switch result {
            case .taken, .alreadyTaken: .taken
            case .refused(.category): .categoryFull
            case .refused(.global): .globalFull
            case .uncounted: .uncounted
            }
        }
    }

    package func takeByForce(_ claims: [CapClaim]) async -> Bool {
        await !limiter.takeByForce(claims.map(Self.request)).contains(.uncounted)
    }

    package func giveBack(_ claims: [CapClaim]) async throws {
        _ = try await limiter.giveBack(claims.map(Self.request))
    }

    private static func request(_ claim: CapClaim) -> SlotRequest {
        SlotRequest(
            userID: claim.userID.rawValue,
            categoryID: claim.category.rawValue,
            weekKey: claim.weekKey,
            messageID: claim.messageID.description,
            categoryCap: claim.categoryCap,
            globalCap: claim.globalCap
        )
    }
}

package import Kernel
import Synchronization

/// Limits how often one address registers devices: a bucket of permits that refills evenly.
///
/// Memory is bounded: when too many addresses are remembered, those whose buckets have refilled are forgotten, and if that
/// is not enough all are, which errs toward letting people in.
package final class RegistrationLimiter: Sendable {
    private struct Bucket {
        var permits: Double
        var at: Timestamp
    }

    private let burst: Double
    private let perSecond: Double
    private let capacity: Int
    private let clock: any WallClock
    private let buckets = Mutex<[String: Bucket]>([:])

    /// - Parameters:
    ///   - perMinute: permits that come back in a minute.
    ///   - burst: permits a fresh address has.
    ///   - capacity: addresses remembered at most.
    package init(perMinute: Int, burst: Int, capacity: Int = 50_000, clock: any WallClock) {
        self.burst = Double(burst)
        perSecond = Double(perMinute) / 60
        self.capacity = capacity
        self.clock = clock
    }

    /// Takes a permit.
    /// - Returns: `nil` when there was one, else the seconds until the next.
    func take(_ address: String) -> Int? {
        let now = clock.now
        return buckets.withLock { buckets in
            var bucket = buckets[address] ?? Bucket(permits: burst, at: now)
            bucket.permits = refilled(bucket, now)
            bucket.at = now
            defer { buckets[address] = bucket }
            if buckets.count >= capacity, buckets[address] == nil {
                buckets = buckets.filter { refilled($0.value, now) < burst }
                if buckets.count >= capacity { buckets = [:] }
            }
            guard bucket.permits >= 1 else { return max(1, Int(((1 - bucket.permits) / perSecond).rounded(.up))) }
            bucket.permits -= 1
            return nil
        }
    }

    private func refilled(_ bucket: Bucket, _ now: Timestamp) -> Double {
        min(burst, bucket.permits + max(0, (now - bucket.at).inSeconds) * perSecond)
    }
}

import HTTPServer
package import Kernel
import Synchronization

/// Limits how often one client registers devices: a bucket of permits that refills evenly, for an IPv4 address or the /64 of an IPv6
/// address.
///
/// Memory is bounded in two generations: when the younger is full, the older is forgotten at once, which costs the same whatever it
/// holds. A client that is seen moves to the younger; one that is forgotten has a full bucket again, which errs toward letting people
/// in.
package final class RegistrationLimiter: Sendable {
    private struct Bucket {
        var permits: Double
        var at: Timestamp
    }

    private struct Memory {
        var young: [IPAddress: Bucket] = [:]
        var old: [IPAddress: Bucket] = [:]
    }

    private let burst: Double
    private let perSecond: Double
    private let capacity: Int
    private let clock: any WallClock
    private let memory = Mutex(Memory())

    /// - Parameters:
    ///   - perMinute: permits that come back in a minute.
    ///   - burst: permits a fresh client has.
    ///   - capacity: clients remembered at most.
    package init(perMinute: Int, burst: Int, capacity: Int = 50_000, clock: any WallClock) {
        self.burst = Double(burst)
        perSecond = Double(perMinute) / 60
        self.capacity = capacity
        self.clock = clock
    }

    /// Takes a permit. Whoever has no address that can be read shares one bucket with their like.
    /// - Returns: `nil` when there was one, else the seconds until the next.
    package func take(_ address: String) -> Int? {
        let now = clock.now
        let client = (IPAddress(address) ?? .unspecified).network
        return memory.withLock { memory in
            var bucket =
                memory.young[client] ?? memory.old.removeValue(forKey: client) ?? Bucket(permits: burst, at: now)
            bucket.permits = refilled(bucket, now)
            bucket.at = now
            var wait: Int?
            if bucket.permits >= 1 {
                bucket.permits -= 1
            } else {
                wait = max(1, Int(((1 - bucket.permits) / perSecond).rounded(.up)))
            }
            if memory.young[client] == nil, memory.young.count >= max(1, capacity / 2) {
                memory.old = memory.young
                memory.young = [:]
            }
            memory.young[client] = bucket
            return wait
        }
    }

    /// How many clients are remembered.
    package var count: Int { memory.withLock { $0.young.count + $0.old.count } }

    private func refilled(_ bucket: Bucket, _ now: Timestamp) -> Double {
        min(burst, bucket.permits + max(0, (now - bucket.at).inSeconds) * perSecond)
    }
}

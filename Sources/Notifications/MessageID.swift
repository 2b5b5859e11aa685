package import Kernel

/// The one id of a notification from door to device: BullMQ job id, row id, `apns-id` and `apns-collapse-id` at once.
///
/// It has the shape of a UUID version 7 (RFC 9562 section 5.7), so inserts append and monthly partitions prune by id.
package struct MessageID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let bits: UUIDBits

    /// Accepts an id that has the shape of a UUIDv7.
    package init?(_ bits: UUIDBits) {
        guard bits.version == 7, bits.variant == 2 else { return nil }
        self.bits = bits
    }

    /// Accepts the text of a UUIDv7 in lower case, the only spelling a job id or an `apns-id` may have.
    package init?(_ text: String) {
        guard let bits = UUIDBits(text), bits.description == text else { return nil }
        self.init(bits)
    }

    /// Builds an id from an instant and 74 further bits, taken from the first ten bytes of `entropy`.
    ///
    /// Random callers pass random bytes. Deterministic ones pass a digest of what the message is about, and always the same
    /// instant, so that a second run makes the same id.
    package init(at instant: Timestamp, entropy: some Collection<UInt8>) {
        let bytes = Array(entropy.prefix(10)) + [UInt8](repeating: 0, count: max(0, 10 - entropy.count))
        let milliseconds = UInt64(bitPattern: instant.milliseconds) & 0xFFFF_FFFF_FFFF
        let first = UInt64(bytes[0]) << 8 | UInt64(bytes[1])
        let rest = bytes[2..<10].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        bits = UUIDBits(
            high: milliseconds << 16 | 0x7000 | first & 0x0FFF,
            low: 0x8000_0000_0000_0000 | rest & 0x3FFF_FFFF_FFFF_FFFF
        )
    }

    /// The instant that the first 48 bits name.
    package var instant: Timestamp { Timestamp(milliseconds: Int64(bits.high >> 16)) }

    package var description: String { bits.description }

    package static func < (lhs: MessageID, rhs: MessageID) -> Bool { lhs.bits < rhs.bits }
}

/// Makes fresh message ids from a clock and a source of random bytes.
package struct MessageIDGenerator: Sendable {
    private let clock: any WallClock
    private let random: @Sendable () -> [UInt8]

    /// - Parameters:
    ///   - clock: gives the first 48 bits.
    ///   - random: gives at least ten random bytes a call.
    package init(clock: any WallClock, random: @escaping @Sendable () -> [UInt8] = Self.systemRandom) {
        self.clock = clock
        self.random = random
    }

    /// An id of the present moment.
    package func next() -> MessageID {
        next(at: clock.now)
    }

    /// An id of the moment a notification is due, so that its row lies in the month in which it is delivered.
    package func next(at instant: Timestamp) -> MessageID {
        MessageID(at: instant, entropy: random())
    }

    /// Sixteen bytes of the system's generator.
    package static let systemRandom: @Sendable () -> [UInt8] = {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).flatMap { _ in
            withUnsafeBytes(of: generator.next() as UInt64) { Array($0) }
        }
    }
}

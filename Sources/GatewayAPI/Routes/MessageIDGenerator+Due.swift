import Kernel
import Notifications

extension MessageIDGenerator {
    /// A fresh id that carries the moment the message is due, when that lies ahead: the row will stand in that month's
    /// partition, and the engine takes an id far from its due time for a foreign one.
    func next(due: Timestamp?) -> MessageID {
        let fresh = next()
        guard let due, due > fresh.instant else { return fresh }
        let high = UInt64(bitPattern: due.milliseconds) << 16 | fresh.bits.high & 0xFFFF
        return MessageID(UUIDBits(high: high, low: fresh.bits.low)) ?? fresh
    }
}

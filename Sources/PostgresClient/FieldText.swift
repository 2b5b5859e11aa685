import Kernel

/// Reads PostgreSQL's text forms. Each answers `nil` for a text of another form.
enum FieldText {
    static func int64(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        Int64(String(decoding: bytes, as: UTF8.self))
    }

    static func bool(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool? {
        guard bytes.count == 1 else { return nil }
        switch bytes[0] {
        case UInt8(ascii: "t"): return true
        case UInt8(ascii: "f"): return false
        default: return nil
        }
    }

    static func uuid(_ bytes: UnsafeBufferPointer<UInt8>) -> UUIDBits? {
        guard bytes.count == 36 else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        var digits = 0
        for byte in bytes where byte != UInt8(ascii: "-") {
            let value: UInt8
            switch byte {
            case 48...57: value = byte - 48
            case 97...102: value = byte - 87
            default: return nil
            }
            if digits < 16 { words.0 = words.0 << 4 | UInt64(value) } else { words.1 = words.1 << 4 | UInt64(value) }
            digits += 1
        }
        return digits == 32 ? UUIDBits(high: words.0, low: words.1) : nil
    }

    /// `2026-12-01 09:30:00.25+00`, with any offset.
    static func timestamp(_ bytes: UnsafeBufferPointer<UInt8>) -> Timestamp? {
        var reader = Reader(bytes: bytes)
        guard let year = reader.number(), reader.take("-"), let month = reader.number(), reader.take("-"),
            let day = reader.number(), reader.take(" "), let hour = reader.number(), reader.take(":"),
            let minute = reader.number(), reader.take(":"), let second = reader.number()
        else { return nil }
        var fraction: Int64 = 0
        if reader.take(".") {
            guard let milliseconds = reader.milliseconds() else { return nil }
            fraction = milliseconds
        }
        guard let offset = reader.offsetInSeconds(), reader.isAtEnd else { return nil }
        let days = CivilDate.daysSinceEpoch(year: year, month: month, day: day)
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
        return Timestamp(milliseconds: seconds * 1000 + fraction)
    }

    private struct Reader {
        let bytes: UnsafeBufferPointer<UInt8>
        var position = 0

        init(bytes: UnsafeBufferPointer<UInt8>) {
            self.bytes = bytes
        }

        var isAtEnd: Bool { position == bytes.count }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
            position += 1
            return true
        }

        mutating func number() -> Int64? {
            let start = position
            var value: Int64 = 0
            while position < bytes.count, (48...57).contains(bytes[position]), position - start < 7 {
                value = value * 10 + Int64(bytes[position] - 48)
                position += 1
            }
            return position > start ? value : nil
        }

        mutating func milliseconds() -> Int64? {
            let start = position
            guard var value = number() else { return nil }
            switch position - start {
            case 1: value *= 100
            case 2: value *= 10
            case 3: break
            case 4: value /= 10
            case 5: value /= 100
            default: value /= 1000
            }
            return value
        }

        mutating func offsetInSeconds() -> Int64? {
            let sign: Int64
            if take("+") { sign = 1 } else if take("-") { sign = -1 } else { return nil }
            guard let hours = number() else { return nil }
            var seconds = hours * 3600
            if take(":") {
                guard let minutes = number() else { return nil }
                seconds += minutes * 60
                if take(":") {
                    guard let rest = number() else { return nil }
                    seconds += rest
                }
            }
            return sign * seconds
        }
    }
}

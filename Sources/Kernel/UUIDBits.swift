/// The 128 bits of a UUID with its canonical lower-case text.
package struct UUIDBits: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads the form 8-4-4-4-12 in either case.
    package init?(_ text: some StringProtocol) {
        let utf8 = Array(text.utf8)
        guard utf8.count == 36, [8, 13, 18, 23].allSatisfy({ utf8[$0] == UInt8(ascii: "-") }) else { return nil }
        guard let bytes = Hex.decode(String(decoding: utf8.filter { $0 != UInt8(ascii: "-") }, as: UTF8.self)),
            bytes.count == 16
        else { return nil }
        high = bytes[0..<8].reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes[8..<16].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The version digit, 7 for time-ordered ids (RFC 9562).
    package var version: Int { Int(high >> 12 & 15) }

    /// The variant bits, 2 for RFC 9562.
    package var variant: Int { Int(low >> 62) }

    /// The canonical text: lower case, 8-4-4-4-12.
    package var description: String {
        String(unsafeUninitializedCapacity: 36) { output in
            write(into: output)
            return 36
        }
    }

    /// Lends the canonical text as bytes, without making a string.
    package func withText<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 36) { output in
            output.initialize(repeating: 0)
            write(into: output)
            return body(UnsafeBufferPointer(output))
        }
    }

    private func write(into output: UnsafeMutableBufferPointer<UInt8>) {
        var position = 0
        for index in 0..<16 {
            let word = index < 8 ? high : low
            let byte = UInt8(truncatingIfNeeded: word >> UInt64(8 * (7 - index % 8)))
            output[position] = Hex.digit(byte >> 4)
            output[position + 1] = Hex.digit(byte & 15)
            position += 2
            if index == 3 || index == 5 || index == 7 || index == 9 {
                output[position] = UInt8(ascii: "-")
                position += 1
            }
        }
    }

    package static func < (lhs: UUIDBits, rhs: UUIDBits) -> Bool {
        (lhs.high, lhs.low) < (rhs.high, rhs.low)
    }
}

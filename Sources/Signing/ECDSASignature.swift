/// Converts P-256 signatures between the two forms: JOSE's `r || s` of exactly 64 bytes (RFC 7518, 3.4) and the DER that
/// OpenSSL speaks.
enum ECDSASignature {
    private static let integerSize = 32

    /// The DER form of `r || s`.
    /// - Returns: `nil` unless the input is exactly 64 bytes. The range of r and s is checked by the verification.
    static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 2 * integerSize else { return nil }
        let body = integer(raw[..<integerSize]) + integer(raw[integerSize...])
        return [0x30, UInt8(body.count)] + body
    }

    /// The `r || s` form of a DER signature, each number padded on the left to 32 bytes: about one signature in 128 has a
    /// shorter r or s.
    /// - Returns: `nil` when the bytes are not two non-negative integers of at most 32 bytes in a sequence.
    static func raw(fromDER der: [UInt8]) -> [UInt8]? {
        guard der.count >= 2, der[0] == 0x30, Int(der[1]) == der.count - 2 else { return nil }
        var rest = der[2...]
        guard let r = takeInteger(&rest), let s = takeInteger(&rest), rest.isEmpty else { return nil }
        return r + s
    }

    private static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var digits = Array(bytes.drop { $0 == 0 })
        if digits.isEmpty || digits[0] >= 0x80 { digits.insert(0, at: 0) }
        return [0x02, UInt8(digits.count)] + digits
    }

    private static func takeInteger(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        guard rest.count >= 2, rest.removeFirst() == 0x02 else { return nil }
        let length = Int(rest.removeFirst())
        guard length > 0, length <= rest.count else { return nil }
        let digits = rest.prefix(length).drop { $0 == 0 }
        rest = rest.dropFirst(length)
        guard digits.count <= integerSize else { return nil }
        return [UInt8](repeating: 0, count: integerSize - digits.count) + digits
    }
}

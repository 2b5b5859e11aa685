/// The spelling of APNs device tokens: hexadecimal of opaque bytes, of no promised length.
package enum DeviceToken {
    /// Longer tokens than Apple has ever issued are refused, in hexadecimal digits.
    private static let lengthLimit = 400

    /// The token in lower case, without the angle brackets and spaces that old apps send.
    /// - Returns: `nil` for a text that is no token, such as `(null)`.
    package static func normalised(_ text: String) -> String? {
        // Almost every token is stored in its final spelling already.
        let isFinal = text.utf8.withContiguousStorageIfAvailable { $0.allSatisfy(isLowerHex) } ?? false
        if isFinal, isLength(text.utf8.count) { return text }
        var output: [UInt8] = []
        output.reserveCapacity(64)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): output.append(byte)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): output.append(byte + 32)
            case UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: " "): continue
            default: return nil
            }
        }
        guard isLength(output.count) else { return nil }
        return String(decoding: output, as: UTF8.self)
    }

    private static func isLowerHex(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") || byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f")
    }

    private static func isLength(_ count: Int) -> Bool {
        count > 0 && count % 2 == 0 && count <= lengthLimit
    }
}

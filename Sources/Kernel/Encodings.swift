/// Hexadecimal text.
package enum Hex {
    /// Lower-case hexadecimal of the bytes.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        // One generic call for the copy instead of one for each byte.
        let bytes = Array(bytes)
        return String(unsafeUninitializedCapacity: 2 * bytes.count) { output in
            for (index, byte) in bytes.enumerated() {
                output[2 * index] = digit(byte >> 4)
                output[2 * index + 1] = digit(byte & 15)
            }
            return 2 * bytes.count
        }
    }

    /// The lower-case digit of a value below 16.
    static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
    }

    /// The bytes of a hexadecimal text in either case, `nil` when it is not one.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let utf8 = Array(text.utf8)
        guard utf8.count % 2 == 0 else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(utf8.count / 2)
        for index in stride(from: 0, to: utf8.count, by: 2) {
            guard let high = value(utf8[index]), let low = value(utf8[index + 1]) else { return nil }
            output.append(high << 4 | low)
        }
        return output
    }

    private static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 48...57: byte - 48
        case 97...102: byte - 87
        case 65...70: byte - 55
        default: nil
        }
    }
}

/// Base64 with the URL-safe alphabet and no padding (RFC 4648 section 5, as JWS uses it).
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 255, count: 256)
        for (index, byte) in alphabet.enumerated() { table[Int(byte)] = UInt8(index) }
        return table
    }()

    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        // As with hexadecimal: one generic call for the copy instead of some for each byte.
        let bytes = Array(bytes)
        let alphabet = alphabet
        var output: [UInt8] = []
        output.reserveCapacity((bytes.count * 4 + 2) / 3)
        var buffer: UInt32 = 0
        var bits = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                output.append(alphabet[Int(buffer >> UInt32(bits) & 63)])
            }
        }
        if bits > 0 { output.append(alphabet[Int(buffer << UInt32(6 - bits) & 63)]) }
        return String(decoding: output, as: UTF8.self)
    }

    /// Decodes strictly: no padding, no white space, no standard alphabet, unused low bits zero.
    /// - Returns: `nil` when the text is not the one canonical spelling of some bytes.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let text = Array(text)
        let values = values
        guard text.count % 4 != 1 else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(text.count * 3 / 4)
        var buffer: UInt32 = 0
        var bits = 0
        for byte in text {
            let value = values[Int(byte)]
            guard value != 255 else { return nil }
            buffer = buffer << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                output.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
            }
        }
        guard buffer & ((1 << UInt32(bits)) - 1) == 0 else { return nil }
        return output
    }
}

/// Base64 with the standard alphabet and padding (RFC 4648 section 4), as certificates stand in `x5c`.
package enum Base64 {
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        let text = Base64URL.encode(bytes)
        let standard = text.utf8.map { byte in
            byte == UInt8(ascii: "-") ? UInt8(ascii: "+") : byte == UInt8(ascii: "_") ? UInt8(ascii: "/") : byte
        }
        return String(decoding: standard, as: UTF8.self) + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    }

    /// Decodes strictly: padded to full groups of four, no white space, no URL alphabet, unused low bits zero.
    package static func decode(_ text: String) -> [UInt8]? {
        var digits = Array(text.utf8)
        guard digits.count % 4 == 0 else { return nil }
        for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        for index in digits.indices {
            switch digits[index] {
            case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
            case UInt8(ascii: "+"): digits[index] = UInt8(ascii: "-")
            case UInt8(ascii: "/"): digits[index] = UInt8(ascii: "_")
            default: break
            }
        }
        return Base64URL.decode(digits)
    }
}

import CNghttp2

/// Collects header fields for nghttp2 in one buffer that is used again for every request.
struct HeaderBlock {
    private struct Field {
        var nameLength: Int
        var valueLength: Int
        var neverIndexed: Bool
        /// A pseudo-header of ours; a caller's header never is one.
        var isPseudo: Bool
    }

    private var bytes: [UInt8] = []
    private var fields: [Field] = []
    private var pairs: [nghttp2_nv] = []

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
    }

    /// Adds a pseudo-header; these come first (RFC 9113, 8.3).
    mutating func append(pseudo name: String, _ value: String) {
        append(name, value, neverIndexed: false, isPseudo: true)
    }

    mutating func append(_ headers: [HTTP2Header]) {
        for header in headers {
            append(header.name, header.value, neverIndexed: header.neverIndexed, isPseudo: false)
        }
    }

    private mutating func append(_ name: String, _ value: String, neverIndexed: Bool, isPseudo: Bool) {
        let start = bytes.count
        bytes.append(contentsOf: name.utf8)
        let middle = bytes.count
        bytes.append(contentsOf: value.utf8)
        fields.append(
            Field(
                nameLength: middle - start,
                valueLength: bytes.count - middle,
                neverIndexed: neverIndexed,
                isPseudo: isPseudo
            )
        )
    }

    /// Calls `body` with the fields, or with `nil` when one of them is not allowed in HTTP/2: an upper-case or empty name, a
    /// pseudo-header among the ordinary ones, a line break in a value. nghttp2 itself would send them as they are.
    mutating func withPairs<Result>(_ body: (UnsafeBufferPointer<nghttp2_nv>?) -> Result) -> Result {
        // Taken out, because the closure below must not touch `self` while `bytes` is lent.
        var pairs: [nghttp2_nv] = []
        swap(&pairs, &self.pairs)
        defer { swap(&pairs, &self.pairs) }
        pairs.removeAll(keepingCapacity: true)
        let fields = fields
        return bytes.withUnsafeMutableBufferPointer { buffer in
            guard var cursor = buffer.baseAddress else { return body(nil) }
            for field in fields {
                let value = cursor + field.nameLength
                let isAllowed =
                    nghttp2_check_header_value_rfc9113(value, field.valueLength) != 0
                    && (field.isPseudo || Self.isName(cursor, field.nameLength))
                guard isAllowed else { return body(nil) }
                let flags = field.neverIndexed ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE
                pairs.append(
                    nghttp2_nv(
                        name: cursor,
                        value: value,
                        namelen: field.nameLength,
                        valuelen: field.valueLength,
                        flags: UInt8(truncatingIfNeeded: flags.rawValue)
                    )
                )
                cursor = value + field.valueLength
            }
            return pairs.withUnsafeBufferPointer { body($0) }
        }
    }

    /// Whether an ordinary header may have this name; nghttp2's own test lets pseudo-headers pass.
    private static func isName(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        count > 0 && bytes[0] != UInt8(ascii: ":") && nghttp2_check_header_name(bytes, count) != 0
    }
}

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

    /// As above, for fields that are laid out already: the path, then what is shared, then the rest of the request's own. Names
    /// are the caller's literals; values are checked, the shared ones long ago.
    /// - Parameter pairs: memory to use.
    static func withPairs<Result>(
        _ request: HTTP2PreparedRequest,
        scratch pairs: inout [nghttp2_nv],
        _ body: (UnsafeBufferPointer<nghttp2_nv>?) -> Result
    ) -> Result {
        pairs.removeAll(keepingCapacity: true)
        // nghttp2 copies what is not shared before `body` returns, so the pointers need not live longer.
        return request.own.withFields { fields in
            for field in fields {
                guard nghttp2_check_header_value_rfc9113(field.value, field.valueLength) != 0 else { return body(nil) }
                pairs.append(
                    nghttp2_nv(
                        name: field.name,
                        value: field.value,
                        namelen: field.nameLength,
                        valuelen: field.valueLength,
                        flags: field.isNeverIndexed ? noIndex : noFlags
                    )
                )
                if pairs.count == 1 { pairs.append(contentsOf: request.shared.pairs) }
            }
            return pairs.withUnsafeBufferPointer { body($0) }
        }
    }

    /// The fields in memory of their own, which the caller frees; `nil` when one of them is not allowed.
    mutating func copied() -> (UnsafeMutablePointer<UInt8>, UnsafeMutableBufferPointer<nghttp2_nv>)? {
        withPairs { pairs in
            guard let pairs, let first = pairs.first?.name else { return nil }
            let size = pairs.reduce(0) { $0 + $1.namelen + $1.valuelen }
            let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: size)
            bytes.update(from: first, count: size)
            let copy = UnsafeMutableBufferPointer<nghttp2_nv>.allocate(capacity: pairs.count)
            var cursor = bytes
            for (index, pair) in pairs.enumerated() {
                copy[index] = nghttp2_nv(
                    name: cursor,
                    value: cursor + pair.namelen,
                    namelen: pair.namelen,
                    valuelen: pair.valuelen,
                    flags: pair.flags | Self.notCopied
                )
                cursor += pair.namelen + pair.valuelen
            }
            return (bytes, copy)
        }
    }

    private static let noFlags = UInt8(truncatingIfNeeded: NGHTTP2_NV_FLAG_NONE.rawValue)
    private static let noIndex = UInt8(truncatingIfNeeded: NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
    private static let notCopied = UInt8(
        truncatingIfNeeded: NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
    )

    /// Whether an ordinary header may have this name; nghttp2's own test lets pseudo-headers pass.
    private static func isName(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        count > 0 && bytes[0] != UInt8(ascii: ":") && nghttp2_check_header_name(bytes, count) != 0
    }
}

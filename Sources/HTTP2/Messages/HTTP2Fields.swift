/// The header fields of one request in one piece of memory, for callers who send many. The first field is the path.
///
/// Each field is a byte of flags, a byte with the length of the name, four with the length of the value, name and value.
package struct HTTP2Fields: Sendable {
    static let neverIndexedFlag: UInt8 = 1
    private static let headSize = 6

    private(set) var bytes: [UInt8] = []

    /// Begins with a path made of two parts.
    /// - Parameter capacity: bytes to reserve for all fields.
    package init(path prefix: StaticString, _ rest: String, capacity: Int = 320) {
        bytes.reserveCapacity(capacity)
        var rest = rest
        rest.withUTF8 { rest in
            appendHead(name: ":path", valueLength: prefix.utf8CodeUnitCount + rest.count, neverIndexed: false)
            prefix.withUTF8Buffer { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: rest)
        }
    }

    /// Adds a field.
    /// - Parameters:
    ///   - name: in lower case and no pseudo-header; it is not checked.
    ///   - neverIndexed: see `HTTP2Header`.
    package mutating func append(_ name: StaticString, _ value: String, neverIndexed: Bool = false) {
        var value = value
        value.withUTF8 { append(name, $0, neverIndexed: neverIndexed) }
    }

    /// As above, for bytes that are no string yet.
    package mutating func append(
        _ name: StaticString,
        _ value: UnsafeBufferPointer<UInt8>,
        neverIndexed: Bool = false
    ) {
        appendHead(name: name, valueLength: value.count, neverIndexed: neverIndexed)
        bytes.append(contentsOf: value)
    }

    private mutating func appendHead(name: StaticString, valueLength: Int, neverIndexed: Bool) {
        bytes.append(neverIndexed ? Self.neverIndexedFlag : 0)
        bytes.append(UInt8(clamping: name.utf8CodeUnitCount))
        let length = UInt32(clamping: valueLength)
        withUnsafeBytes(of: length.littleEndian) { bytes.append(contentsOf: $0) }
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    /// Lends the fields, whose pointers are good during the call.
    func withFields<Result>(_ body: (FieldSequence) -> Result) -> Result {
        bytes.withUnsafeBufferPointer { body(FieldSequence(rest: $0)) }
    }

    /// One field of a request, in place.
    struct Field {
        let name: UnsafeMutablePointer<UInt8>
        let nameLength: Int
        let value: UnsafeMutablePointer<UInt8>
        let valueLength: Int
        let isNeverIndexed: Bool
    }

    /// Goes through the fields. The pointers are mutable because nghttp2's types want that; nobody writes.
    struct FieldSequence: Sequence, IteratorProtocol {
        private var rest: UnsafeBufferPointer<UInt8>

        init(rest: UnsafeBufferPointer<UInt8>) {
            self.rest = rest
        }

        mutating func next() -> Field? {
            guard rest.count >= HTTP2Fields.headSize, let start = rest.baseAddress else { return nil }
            let nameLength = Int(start[1])
            let valueLength = Int(start[2]) | Int(start[3]) << 8 | Int(start[4]) << 16 | Int(start[5]) << 24
            let name = UnsafeMutablePointer(mutating: start + HTTP2Fields.headSize)
            let size = HTTP2Fields.headSize + nameLength + valueLength
            rest = UnsafeBufferPointer(start: start + size, count: rest.count - size)
            return Field(
                name: name,
                nameLength: nameLength,
                value: name + nameLength,
                valueLength: valueLength,
                isNeverIndexed: start.pointee & HTTP2Fields.neverIndexedFlag != 0
            )
        }
    }
}

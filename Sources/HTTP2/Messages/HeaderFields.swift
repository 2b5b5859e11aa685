/// The header fields of an answer as they arrived, in one piece of memory. Most answers are judged by their status and one or
/// two headers, so strings are made only when somebody asks.
struct HeaderFields: Sendable {
    /// For each field: length of the name, length of the value (four bytes each, little endian), name, value.
    private var bytes: [UInt8] = []

    mutating func append(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        if bytes.isEmpty { bytes.reserveCapacity(256) }
        append(length: name.count)
        append(length: value.count)
        bytes.append(contentsOf: name)
        bytes.append(contentsOf: value)
    }

    init() {}

    init(_ headers: [HTTP2Header]) {
        for header in headers {
            append(length: header.name.utf8.count)
            append(length: header.value.utf8.count)
            bytes.append(contentsOf: header.name.utf8)
            bytes.append(contentsOf: header.value.utf8)
        }
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }

    /// All fields, in the order of arrival.
    var all: [HTTP2Header] {
        var headers: [HTTP2Header] = []
        forEach { name, value in
            headers.append(HTTP2Header(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
            return true
        }
        return headers
    }

    /// The value of the first field with this name.
    func value(of wanted: String) -> String? {
        var found: String?
        forEach { name, value in
            guard name.elementsEqual(wanted.utf8) else { return true }
            found = String(decoding: value, as: UTF8.self)
            return false
        }
        return found
    }

    private mutating func append(length: Int) {
        let length = UInt32(clamping: length)
        for shift in stride(from: 0, to: 32, by: 8) { bytes.append(UInt8(truncatingIfNeeded: length >> UInt32(shift))) }
    }

    private func length(at index: Int) -> Int {
        (0..<4).reduce(0) { $0 | Int(bytes[index + $1]) << (8 * $1) }
    }

    /// Visits the fields until `body` says `false`.
    private func forEach(_ body: (ArraySlice<UInt8>, ArraySlice<UInt8>) -> Bool) {
        var index = 0
        while index < bytes.count {
            let (name, value) = (length(at: index), length(at: index + 4))
            let start = index + 8
            index = start + name + value
            guard body(bytes[start..<start + name], bytes[start + name..<index]) else { return }
        }
    }
}

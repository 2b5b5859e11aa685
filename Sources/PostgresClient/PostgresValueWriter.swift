package import Kernel

/// Collects the values of a statement in PostgreSQL's text form, in one buffer, as libpq wants them: each closed by a zero.
package struct PostgresValueWriter: Sendable {
    /// Where each value begins in `bytes`, `nil` for NULL.
    private(set) var offsets: [Int?] = []
    private(set) var bytes: [UInt8] = []
    /// Whether a text held a zero character, which PostgreSQL cannot store and libpq would take as its end.
    private(set) var holdsNUL = false
    var isEmpty: Bool { offsets.isEmpty }
    private var isInQuotes = false

    /// Each value as text, `nil` for NULL.
    var texts: [String?] {
        offsets.map { start in start.map { String(decoding: bytes[$0...].prefix { $0 != 0 }, as: UTF8.self) } }
    }

    mutating func bind(_ write: (inout PostgresValueWriter) -> Bool) {
        let start = bytes.count
        if write(&self) {
            offsets.append(start)
            bytes.append(0)
        } else {
            offsets.append(nil)
        }
    }

    /// Appends the values of another statement.
    mutating func append(_ other: PostgresValueWriter) {
        let start = bytes.count
        offsets += other.offsets.map { offset in offset.map { $0 + start } }
        bytes += other.bytes
        holdsNUL = holdsNUL || other.holdsNUL
    }

    package mutating func append(ascii text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// Appends any text; inside an array it is escaped.
    package mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            if utf8.contains(0) {
                holdsNUL = true
                return
            }
            guard isInQuotes else {
                bytes.append(contentsOf: utf8)
                return
            }
            let backslash = UInt8(ascii: "\\")
            for byte in utf8 {
                if byte == UInt8(ascii: "\"") || byte == backslash { bytes.append(backslash) }
                bytes.append(byte)
            }
        }
    }

    package mutating func append(hexOf data: some Sequence<UInt8>) {
        for byte in data {
            bytes.append(Self.digit(byte >> 4))
            bytes.append(Self.digit(byte & 15))
        }
    }

    package mutating func append(hexOf word: UInt64) {
        for shift in stride(from: UInt64(60), through: 0, by: -4) {
            bytes.append(Self.digit(UInt8(word >> shift & 15)))
        }
    }

    /// `2026-12-01 09:30:00.250+00`, always in UTC.
    package mutating func append(_ moment: Timestamp) {
        let milliseconds = moment.milliseconds
        let day = milliseconds >= 0 ? milliseconds / 86_400_000 : (milliseconds - 86_399_999) / 86_400_000
        let rest = milliseconds - day * 86_400_000
        let date = CivilDate.from(daysSinceEpoch: day)
        append(number: date.year, width: 4)
        bytes.append(UInt8(ascii: "-"))
        append(number: date.month, width: 2)
        bytes.append(UInt8(ascii: "-"))
        append(number: date.day, width: 2)
        // A T instead of a blank, so that the value needs no quotes in an array.
        bytes.append(UInt8(ascii: "T"))
        append(number: rest / 3_600_000, width: 2)
        bytes.append(UInt8(ascii: ":"))
        append(number: rest / 60_000 % 60, width: 2)
        bytes.append(UInt8(ascii: ":"))
        append(number: rest / 1000 % 60, width: 2)
        bytes.append(UInt8(ascii: "."))
        append(number: rest % 1000, width: 3)
        bytes.append(UInt8(ascii: "Z"))
    }

    package mutating func array<Element: PostgresBindable>(of elements: [Element]) {
        bytes.append(UInt8(ascii: "{"))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            let start = bytes.count
            isInQuotes = Element.isQuotedInArrays
            if isInQuotes { bytes.append(UInt8(ascii: "\"")) }
            if element.write(to: &self) {
                if isInQuotes { bytes.append(UInt8(ascii: "\"")) }
            } else {
                bytes.removeLast(bytes.count - start)
                append(ascii: "NULL")
            }
        }
        isInQuotes = false
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func append(number: Int64, width: Int) {
        var divisor: Int64 = 1
        for _ in 1..<width { divisor *= 10 }
        if number >= divisor * 10 || number < 0 {
            append(ascii: String(number))
            return
        }
        while divisor > 0 {
            bytes.append(UInt8(48 + number / divisor % 10))
            divisor /= 10
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 87 + value }
}

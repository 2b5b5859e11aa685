extension Timestamp: CustomStringConvertible {
    /// The RFC 3339 form in UTC with milliseconds: `2026-12-01T09:30:00.250Z`.
    package var description: String { rfc3339 }

    /// The RFC 3339 form in UTC with milliseconds.
    package var rfc3339: String {
        let days = milliseconds.flooredDivision(by: 86_400_000)
        let rest = milliseconds - days * 86_400_000
        let (year, month, day) = CivilDate.from(daysSinceEpoch: days)
        func pad(_ value: Int64, _ width: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        let time = [rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60].map { pad($0, 2) }.joined(separator: ":")
        return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(time).\(pad(rest % 1000, 3))Z"
    }

    /// Reads an RFC 3339 date-time. The offset is required: a local time without one names no instant.
    ///
    /// Fractions beyond milliseconds are cut; a leap second (`:60`) counts as the second that follows.
    /// - Returns: `nil` when the text is not such a date-time or names a day that does not exist.
    package init?(rfc3339 text: String) {
        var reader = DigitReader(bytes: Array(text.utf8))
        guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
            let day = reader.number(2), reader.take("T") || reader.take("t") || reader.take(" "),
            let hour = reader.number(2), reader.take(":"), let minute = reader.number(2), reader.take(":"),
            let second = reader.number(2)
        else { return nil }
        guard (1...12).contains(month), (1...CivilDate.daysIn(month: month, year: year)).contains(day), hour < 24,
            minute < 60, second <= 60
        else { return nil }
        var fraction: Int64 = 0
        if reader.take(".") {
            guard let digits = reader.fractionInMilliseconds() else { return nil }
            fraction = digits
        }
        var offsetMinutes: Int64 = 0
        if reader.take("Z") || reader.take("z") {
            offsetMinutes = 0
        } else {
            let sign: Int64
            if reader.take("+") { sign = 1 } else if reader.take("-") { sign = -1 } else { return nil }
            guard let hours = reader.number(2), reader.take(":"), let minutes = reader.number(2), hours < 24,
                minutes < 60
            else { return nil }
            offsetMinutes = sign * (hours * 60 + minutes)
        }
        guard reader.isAtEnd else { return nil }
        let days = CivilDate.daysSinceEpoch(year: year, month: month, day: day)
        let seconds = days * 86_400 + hour * 3600 + (minute - offsetMinutes) * 60 + second
        self.init(milliseconds: seconds * 1000 + fraction)
    }
}

/// Days of the proleptic Gregorian calendar, by the era arithmetic described in Howard Hinnant's "chrono-compatible
/// low-level date algorithms".
package enum CivilDate {
    /// Days from 1970-01-01 to the given day.
    package static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted.flooredDivision(by: 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// The calendar day that lies `days` after 1970-01-01.
    package static func from(daysSinceEpoch days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted.flooredDivision(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let index = (5 * dayOfYear + 2) / 153
        let month = index < 10 ? index + 3 : index - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * index + 2) / 5 + 1)
    }

    /// The number of days of a month, 1 for January.
    package static func daysIn(month: Int64, year: Int64) -> Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }
}

extension Int64 {
    fileprivate func flooredDivision(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}

private struct DigitReader {
    let bytes: [UInt8]
    var position = 0

    var isAtEnd: Bool { position == bytes.count }

    mutating func take(_ character: Character) -> Bool {
        guard position < bytes.count, bytes[position] == character.asciiValue else { return false }
        position += 1
        return true
    }

    mutating func number(_ digits: Int) -> Int64? {
        guard position + digits <= bytes.count else { return nil }
        var value: Int64 = 0
        for byte in bytes[position..<position + digits] {
            guard (48...57).contains(byte) else { return nil }
            value = value * 10 + Int64(byte - 48)
        }
        position += digits
        return value
    }

    mutating func fractionInMilliseconds() -> Int64? {
        var value: Int64 = 0
        var count = 0
        while position < bytes.count, (48...57).contains(bytes[position]) {
            if count < 3 { value = value * 10 + Int64(bytes[position] - 48) }
            count += 1
            position += 1
        }
        guard (1...12).contains(count) else { return nil }
        for _ in 0..<max(0, 3 - count) { value *= 10 }
        return value
    }
}

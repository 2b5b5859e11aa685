public import Foundation

/// A day of the proleptic Gregorian calendar, without a zone.
public struct LocalDate: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    /// Days since 1970-01-01.
    public let day: Int

    /// The day that lies so many days after 1970-01-01.
    public init(day: Int) {
        self.day = day
    }

    /// The day on which an instant falls in a zone.
    public init(of instant: Date, in zone: TimeZone) {
        let seconds = instant.timeIntervalSince1970 + Double(zone.secondsFromGMT(for: instant))
        day = Int((seconds / 86_400).rounded(.down))
    }

    /// Reads `2026-12-02`.
    /// - Returns: `nil` for other spellings and for days that do not exist.
    public init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard text.utf8.count == 10, parts.count == 3, parts.map(\.utf8.count) == [4, 2, 2],
            text.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || (48...57).contains($0) }),
            let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2])
        else { return nil }
        self.init(year: year, month: month, day: day)
        guard description == text else { return nil }
    }

    /// A day by its parts; what lies past a month's end runs on.
    public init(year: Int, month: Int, day: Int) {
        // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": the year begins in March.
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        self.day = era * 146_097 + dayOfEra - 719_468
    }

    /// Year, month and day.
    public var parts: (year: Int, month: Int, day: Int) {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
        return (year, month < 10 ? month + 3 : month - 9, dayOfYear - (153 * month + 2) / 5 + 1)
    }

    /// `2026-12-02`
    public var description: String {
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let (year, month, day) = parts
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    }

    /// The day so many days later.
    public func adding(_ days: Int) -> LocalDate { LocalDate(day: day + days) }

    /// Earlier days first.
    public static func < (lhs: LocalDate, rhs: LocalDate) -> Bool { lhs.day < rhs.day }
}

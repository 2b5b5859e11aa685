package import Kernel

/// A week of ISO 8601, named `2026-W53`: it begins on Monday, and the first one of a year holds 4 January.
package struct ISOWeek: Sendable, Equatable, CustomStringConvertible {
    package let year: Int64
    /// 1 to 53.
    package let week: Int64

    /// Reads a week key.
    /// - Returns: `nil` for another form, and for a 53rd week in a year that has none.
    package init?(_ key: String) {
        let parts = key.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 4, parts[1].utf8.count == 3, parts[1].first == "W",
            let year = Int64(parts[0]), let week = Int64(parts[1].dropFirst()), year > 0, week >= 1
        else { return nil }
        self.year = year
        self.week = week
        guard week <= 52 || monday + .seconds(7 * 86_400) <= Self.firstMonday(of: year + 1), week <= 53 else {
            return nil
        }
    }

    /// Monday, 00:00 UTC.
    package var monday: Timestamp {
        Self.firstMonday(of: year) + .seconds((week - 1) * 7 * 86_400)
    }

    private static func firstMonday(of year: Int64) -> Timestamp {
        let fourth = CivilDate.daysSinceEpoch(year: year, month: 1, day: 4)
        // 1970-01-01 was a Thursday.
        let weekday = ((fourth + 3) % 7 + 7) % 7
        return Timestamp(milliseconds: (fourth - weekday) * 86_400_000)
    }

    package var description: String {
        "\(year)-W\(week < 10 ? "0" : "")\(week)"
    }
}

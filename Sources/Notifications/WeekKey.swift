/// ISO weeks by their names, such as `2026-W53`.
package enum WeekKey {
    /// The weeks before and after: where a message may hold a slot that was taken before midnight of a Sunday, or in another
    /// zone. Empty for a text that names no week.
    package static func neighbours(of key: String) -> [String] {
        let parts = key.split(separator: "-W", omittingEmptySubsequences: false)
        guard parts.count == 2, let year = Int(parts[0]), let week = Int(parts[1]), (1...9998).contains(year),
            (1...weeks(in: year)).contains(week)
        else { return [] }
        let before = week > 1 ? (year, week - 1) : (year - 1, weeks(in: year - 1))
        let after = week < weeks(in: year) ? (year, week + 1) : (year + 1, 1)
        return [before, after].map { name(year: $0.0, week: $0.1) }
    }

    private static func name(year: Int, week: Int) -> String {
        String(repeating: "0", count: max(0, 4 - String(year).count)) + "\(year)-W" + (week < 10 ? "0" : "") + "\(week)"
    }

    /// 53 when the year begins on a Thursday, or is a leap year that begins on a Wednesday; else 52.
    private static func weeks(in year: Int) -> Int {
        /// The weekday of 31 December, 0 for a Sunday.
        func lastDay(_ year: Int) -> Int { (year + year / 4 - year / 100 + year / 400) % 7 }
        return lastDay(year) == 4 || lastDay(year - 1) == 3 ? 53 : 52
    }
}

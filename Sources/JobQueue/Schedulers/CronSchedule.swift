package import Kernel

/// Moments named by a cron pattern, in UTC: `[second] minute hour day-of-month month day-of-week`.
///
/// A field is `*`, a number, a range `a-b`, a list `a,b`, or one of these with a step `/n`; months and weekdays may be
/// three-letter English names; Sunday is 0 or 7; `?` is `*`. When both day fields are restricted, a day that fits either
/// counts, as cron has it. `L`, `W` and `#` are refused.
package struct CronSchedule: Sendable, Equatable {
    package let pattern: String
    private let seconds: [Int]
    private let minutes: [Int]
    private let hours: [Int]
    private let days: Set<Int>
    private let months: Set<Int>
    private let weekdays: Set<Int>
    private let anyDay: Bool
    private let anyWeekday: Bool

    /// - Throws: `invalidSchedule` naming the field that is not understood.
    package init(_ pattern: String) throws(JobQueueError) {
        self.pattern = pattern
        var fields = pattern.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
        if fields.count == 5 { fields.insert("0", at: 0) }
        guard fields.count == 6 else {
            throw JobQueueError(.invalidSchedule, "a cron pattern has five or six fields: \"\(pattern)\"")
        }
        seconds = try CronField.second.values(fields[0]).sorted()
        minutes = try CronField.minute.values(fields[1]).sorted()
        hours = try CronField.hour.values(fields[2]).sorted()
        days = try CronField.day.values(fields[3])
        months = try CronField.month.values(fields[4])
        weekdays = Set(try CronField.weekday.values(fields[5]).map { $0 % 7 })
        anyDay = days.count == 31
        anyWeekday = weekdays.count == 7
    }

    /// The first moment after `moment`, `nil` when there is none within eight years (such as for February 30).
    package func next(after moment: Timestamp) -> Timestamp? {
        let start = moment.seconds + 1
        var day = start >= 0 ? start / 86_400 : (start - 86_399) / 86_400
        var from = Int(start - day * 86_400)
        // Two leap years and a day: February 29 on a weekday may be further away, but nobody means that.
        for _ in 0..<2923 {
            if matches(day: day), let second = first(from: from) {
                return Timestamp(milliseconds: (day * 86_400 + Int64(second)) * 1000)
            }
            day += 1
            from = 0
        }
        return nil
    }

    private func matches(day: Int64) -> Bool {
        let date = CivilDate.from(daysSinceEpoch: day)
        guard months.contains(Int(date.month)) else { return false }
        let fitsDay = days.contains(Int(date.day))
        // 1970-01-01 was a Thursday.
        let fitsWeekday = weekdays.contains(Int(((day + 4) % 7 + 7) % 7))
        if anyDay { return fitsWeekday }
        if anyWeekday { return fitsDay }
        return fitsDay || fitsWeekday
    }

    /// The first fitting second of a day that is not before `from`.
    private func first(from: Int) -> Int? {
        for hour in hours where hour * 3600 + 3599 >= from {
            for minute in minutes where hour * 3600 + minute * 60 + 59 >= from {
                for second in seconds where hour * 3600 + minute * 60 + second >= from {
                    return hour * 3600 + minute * 60 + second
                }
            }
        }
        return nil
    }
}

/// One field of a cron pattern.
private enum CronField: String {
    case second, minute, hour
    case day = "day of month"
    case month
    case weekday = "day of week"

    private var range: ClosedRange<Int> {
        switch self {
        case .second, .minute: 0...59
        case .hour: 0...23
        case .day: 1...31
        case .month: 1...12
        case .weekday: 0...7
        }
    }

    private var names: [String] {
        switch self {
        case .month:
            ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        case .weekday: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
        default: []
        }
    }

    func values(_ text: String) throws(JobQueueError) -> Set<Int> {
        var values: Set<Int> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let halves = part.split(separator: "/", omittingEmptySubsequences: false)
            var step = 1
            if halves.count == 2 {
                guard let number = Int(halves[1]), number > 0, halves[1].allSatisfy(\.isNumber) else {
                    throw refused(text)
                }
                step = number
            }
            guard let base = halves.first, halves.count <= 2 else { throw refused(text) }
            let span = try span(String(base), openEnded: halves.count == 2, of: text)
            values.formUnion(stride(from: span.lowerBound, through: span.upperBound, by: step))
        }
        return values
    }

    /// - Parameter openEnded: a single number with a step means "from there on".
    private func span(_ base: String, openEnded: Bool, of text: String) throws(JobQueueError) -> ClosedRange<Int> {
        if base == "*" || base == "?" {
            return self == .weekday ? 0...6 : range
        }
        let ends = base.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count <= 2, let first = ends.first.flatMap({ number(String($0)) }),
            let last = ends.count == 2 ? number(String(ends[1])) : (openEnded ? range.upperBound : first),
            first <= last
        else { throw refused(text) }
        return first...last
    }

    private func number(_ text: String) -> Int? {
        if let index = names.firstIndex(of: text.lowercased()) { return self == .month ? index + 1 : index }
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }), let value = Int(text),
            range.contains(value)
        else { return nil }
        return value
    }

    private func refused(_ text: String) -> JobQueueError {
        JobQueueError(.invalidSchedule, "\"\(text)\" is no \(rawValue) of a cron pattern")
    }
}

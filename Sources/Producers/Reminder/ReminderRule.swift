package import Kernel

/// Who is reminded of what, by the time since the last activity alone (P1, P2).
package enum ReminderRule {
    /// What a reminder says, and on which of the four steps.
    package struct Phrase: Sendable, Equatable {
        /// 1 to 4.
        package let step: Int
        /// The key of its text in the catalog.
        package let key: String

        package init(step: Int, key: String) {
            self.step = step
            self.key = key
        }
    }

    /// Whole days of absence, by step. After the last step comes silence.
    private static let steps = [3..<7, 7..<14, 14..<21, 21..<28]
    private static let warmVariants = ["a", "b", "c"]
    private static let day = Duration.seconds(86_400)

    /// Whole days of 86,400 seconds since the last activity; the calendar and its clock changes play no part.
    package static func days(since lastActivity: Timestamp, at now: Timestamp) -> Int {
        let milliseconds = now.milliseconds - lastActivity.milliseconds
        return Int(milliseconds >= 0 ? milliseconds / day.milliseconds : -1)
    }

    /// What to say after so many days, `nil` for nothing: too early, or too late.
    package static func phrase(days: Int) -> Phrase? {
        guard let index = steps.firstIndex(where: { $0.contains(days) }) else { return nil }
        // The first step changes its words from day to day.
        guard index == 0 else { return Phrase(step: index + 1, key: "reminder.step\(index + 1)") }
        return Phrase(step: 1, key: "reminder.step1.\(warmVariants[days % warmVariants.count])")
    }

    /// The last activities for which there is something to say: after the first moment, up to and including the second.
    package static func absence(at now: Timestamp) -> (after: Timestamp, upTo: Timestamp) {
        (now - day * steps[steps.count - 1].upperBound, now - day * steps[0].lowerBound)
    }
}

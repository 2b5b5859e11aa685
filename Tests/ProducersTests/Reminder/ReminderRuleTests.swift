import Kernel
import Notifications
import Producers
import Testing

struct ReminderRuleTests {
    @Test(
        arguments: [
            (-1, nil, nil), (0, nil, nil), (2, nil, nil),
            (3, 1, "reminder.step1.a"), (4, 1, "reminder.step1.b"), (5, 1, "reminder.step1.c"),
            (6, 1, "reminder.step1.a"),
            (7, 2, "reminder.step2"), (13, 2, "reminder.step2"), (14, 3, "reminder.step3"), (20, 3, "reminder.step3"),
            (21, 4, "reminder.step4"), (27, 4, "reminder.step4"), (28, nil, nil), (400, nil, nil),
        ] as [(Int, Int?, String?)]
    )
    func `the days of absence decide what is said (P2)`(days: Int, step: Int?, key: String?) throws {
        let phrase = ReminderRule.phrase(days: days)
        #expect(phrase?.step == step)
        #expect(phrase?.key == key)
    }

    private static let day = Duration.seconds(86_400)

    @Test(arguments: [
        (day * 3 - .milliseconds(1), 2), (day * 3, 3), (day * 4 - .milliseconds(1), 3), (day * 28, 28), (.zero, 0),
        (.milliseconds(-1), -1),
    ])
    func `days are whole days of 86,400 seconds, whatever clocks changed (P2)`(absence: Duration, days: Int) throws {
        // Oslo's clocks go forward on 29 March 2026.
        let now = try #require(Timestamp(rfc3339: "2026-03-30T09:00:00+02:00"))
        #expect(ReminderRule.days(since: now - absence, at: now) == days)
    }

    @Test func `the sweep's bounds and the steps say the same (P1, P2)`() {
        let now = Timestamp(milliseconds: 1_796_083_200_000)
        let bounds = ReminderRule.absence(at: now)
        func speaks(_ last: Timestamp) -> Bool {
            ReminderRule.phrase(days: ReminderRule.days(since: last, at: now)) != nil
        }
        #expect(speaks(bounds.upTo) && !speaks(bounds.upTo + .milliseconds(1)))
        #expect(!speaks(bounds.after) && speaks(bounds.after + .milliseconds(1)))
    }

    @Test func `every phrase has its text in the catalog, without variables (P3, P9)`() throws {
        let catalog = try Catalog.standard(appName: "App")
        let keys = Set((0..<60).compactMap { ReminderRule.phrase(days: $0)?.key })
        #expect(keys.count == 6)
        for key in keys { #expect(catalog.problem(key: key, variables: [:]) == nil, "\(key)") }
    }
}

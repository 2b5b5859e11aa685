import Notifications
import Testing

struct WeekKeyTests {
    @Test(arguments: [
        ("2026-W49", ["2026-W48", "2026-W50"]), ("2026-W53", ["2026-W52", "2027-W01"]),
        ("2027-W01", ["2026-W53", "2027-W02"]), ("2025-W01", ["2024-W52", "2025-W02"]),
        ("2020-W53", ["2020-W52", "2021-W01"]), ("2021-W01", ["2020-W53", "2021-W02"]),
        ("2015-W53", ["2015-W52", "2016-W01"]), ("2024-W52", ["2024-W51", "2025-W01"]),
        ("2026-W09", ["2026-W08", "2026-W10"]),
    ])
    func `a week knows its neighbours over the ends of years of 52 and 53 weeks (R1)`(
        key: String,
        neighbours: [String]
    ) {
        #expect(WeekKey.neighbours(of: key) == neighbours)
    }

    @Test(arguments: ["", "2026", "2026-W00", "2025-W53", "2026-W54", "2026-W1x", "x-W01", "2026-W01-W02"])
    func `what names no week has none`(key: String) {
        #expect(WeekKey.neighbours(of: key).isEmpty)
    }
}

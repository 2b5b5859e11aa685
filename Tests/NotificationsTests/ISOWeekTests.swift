import Kernel
import Notifications
import Testing

struct ISOWeekTests {
    @Test(arguments: [
        ("2024-W53", nil), ("2025-W01", "2024-12-30T00:00:00Z"), ("2026-W01", "2025-12-29T00:00:00Z"),
        ("2026-W52", "2026-12-21T00:00:00Z"), ("2026-W53", "2026-12-28T00:00:00Z"), ("2026-W54", nil),
        ("2027-W01", "2027-01-04T00:00:00Z"), ("2027-W53", nil), ("2032-W53", "2032-12-27T00:00:00Z"),
        ("2020-W53", "2020-12-28T00:00:00Z"), ("2026-W00", nil), ("2026-53", nil), ("2026-W5", nil), ("", nil),
        ("2026-W053", nil), ("x026-W05", nil),
    ])
    func `a week begins on its Monday, and only long years have a 53rd (R1)`(key: String, monday: String?) {
        let week = ISOWeek(key)
        #expect(week?.monday == monday.flatMap { Timestamp(rfc3339: $0) })
        if monday != nil { #expect(week?.description == key) }
    }
}

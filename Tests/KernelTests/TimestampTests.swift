import Kernel
import Testing

struct TimestampTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-12-01T09:30:00.25Z", 1_796_117_400_250),
        ("2026-12-01T10:30:00.250+01:00", 1_796_117_400_250),
        ("2026-12-01t04:00:00.250-05:30", 1_796_117_400_250),
        ("2000-02-29T00:00:00Z", 951_782_400_000),
        ("2026-12-31T23:59:60Z", 1_798_761_600_000),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2026-12-01T09:30:00.123456789Z", 1_796_117_400_123),
    ])
    func `an RFC 3339 time is read`(text: String, milliseconds: Int64) {
        #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "2026-12-01", "2026-12-01T09:30:00", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-12-01T24:00:00Z",
        "2026-12-01T09:60:00Z", "2026-12-01T09:30:00.Z", "2026-12-01T09:30:00+25:00", "2026-12-01T09:30:00Zx",
        "26-12-01T09:30:00Z", "2026-12-01T09:30:00 Z",
    ])
    func `what is no RFC 3339 time is refused`(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test(arguments: [-62_135_596_800_000, -1, 0, 951_782_400_000, 1_796_117_400_250, 253_402_300_799_999] as [Int64])
    func `a printed time reads as itself`(milliseconds: Int64) {
        let time = Timestamp(milliseconds: milliseconds)
        #expect(Timestamp(rfc3339: time.rfc3339) == time)
    }

    @Test func `every day of four centuries survives the calendar and back`() {
        var mismatches = 0
        for days in Int64(-73_000)...73_097 {
            let (year, month, day) = CivilDate.from(daysSinceEpoch: days)
            if CivilDate.daysSinceEpoch(year: year, month: month, day: day) != days { mismatches += 1 }
        }
        #expect(mismatches == 0)
    }
}

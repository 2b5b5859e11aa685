import JobQueue
import Kernel
import Testing

struct CronScheduleTests {
    @Test(arguments: [
        ("* * * * *", "2026-12-01T09:30:00.000Z", "2026-12-01T09:31:00.000Z"),
        ("*/15 * * * * *", "2026-12-01T09:30:00.250Z", "2026-12-01T09:30:15.000Z"),
        ("0 3 * * *", "2026-12-01T09:30:00Z", "2026-12-02T03:00:00.000Z"),
        ("0 3 * * *", "2026-12-01T02:59:59.999Z", "2026-12-01T03:00:00.000Z"),
        ("30 8 * * mon-fri", "2026-12-04T08:30:00Z", "2026-12-07T08:30:00.000Z"),
        ("0 0 1 jan *", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00.000Z"),
        ("0 0 29 2 *", "2026-12-01T00:00:00Z", "2028-02-29T00:00:00.000Z"),
        ("0 0 13 * fri", "2026-12-01T00:00:00Z", "2026-12-04T00:00:00.000Z"),
        ("0 0 * * 7", "2026-12-01T00:00:00Z", "2026-12-06T00:00:00.000Z"),
        ("5,35 10-12/2 * * ?", "2026-12-01T10:36:00Z", "2026-12-01T12:05:00.000Z"),
        ("10/20 * * * *", "2026-12-01T10:31:00Z", "2026-12-01T10:50:00.000Z"),
        ("59 59 23 31 12 *", "2026-12-31T23:59:59Z", "2027-12-31T23:59:59.000Z"),
        ("0 0 * * *", "1969-12-31T23:00:00Z", "1970-01-01T00:00:00.000Z"),
    ])
    func `the next moment is the first that fits`(pattern: String, after: String, expected: String) throws {
        let moment = try #require(Timestamp(rfc3339: after))
        #expect(try CronSchedule(pattern).next(after: moment)?.rfc3339 == expected)
    }

    @Test func `a day that never comes has no next moment`() throws {
        #expect(try CronSchedule("0 0 30 2 *").next(after: Timestamp(milliseconds: 0)) == nil)
    }

    @Test(arguments: [
        "", "* * * *", "* * * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8",
        "5-3 * * * *",
        "*/0 * * * *", "1,,2 * * * *", "a * * * *", "* * L * *", "* * * * 5#2", "1-2-3 * * * *", "-1 * * * *",
        "*/x * * * *",
    ])
    func `what is no pattern is refused`(pattern: String) {
        let error = #expect(throws: JobQueueError.self) { try CronSchedule(pattern) }
        #expect(error?.code == .invalidSchedule)
    }
}

import Kernel
import Observability
import Testing

@testable import Producers

struct ReminderRunMetricsTests {
    private let end = Timestamp(milliseconds: 1_796_083_200_500)

    private func lines(_ report: ReminderReport?) -> [String] {
        ReminderRunMetrics(report, endedAt: end, took: .milliseconds(1500)).registry.render()
            .split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
    }

    @Test func `a run tells when it ended, how long it took and what it did (A3, P1)`() {
        var report = ReminderReport()
        (report.due, report.alreadyClaimed, report.enqueued) = (10, 2, 8)
        let lines = lines(report)
        #expect(lines.contains("reminder_run_success 1"))
        #expect(lines.contains("reminder_run_end_timestamp_seconds 1796083200.5"))
        #expect(lines.contains("reminder_run_duration_seconds 1.5"))
        #expect(lines.contains(#"reminder_run_users{result="due"} 10"#))
        #expect(lines.contains(#"reminder_run_users{result="enqueued"} 8"#))
    }

    @Test func `a run that failed or was stopped was no success (A3)`() {
        var stopped = ReminderReport()
        stopped.isStopped = true
        #expect(lines(stopped).contains("reminder_run_success 0"))
        let failed = lines(nil)
        #expect(failed.contains("reminder_run_success 0"))
        #expect(!failed.contains { $0.hasPrefix("reminder_run_users") })
    }
}

package import Kernel
package import Observability

/// What one run leaves for Prometheus: the producer ends before anybody could ask it.
package struct ReminderRunMetrics: Sendable {
    package let registry = MetricsRegistry()

    /// - Parameters:
    ///   - report: what the run did, `nil` for one that failed.
    ///   - endedAt: when it ended.
    ///   - took: how long it ran.
    package init(_ report: ReminderReport?, endedAt: Timestamp, took: Duration) {
        registry.gauge("reminder_run_end_timestamp_seconds", help: "When the last run of the reminder producer ended.")
            .set(Double(endedAt.milliseconds) / 1000)
        registry.gauge(
            "reminder_run_success",
            help: "1 when the last run of the reminder producer did all that was due."
        )
        .set(report.map { $0.isStopped ? 0 : 1 } ?? 0)
        registry.gauge("reminder_run_duration_seconds", help: "How long the last run of the reminder producer took.")
            .set(Double(took.milliseconds) / 1000)
        guard let report else { return }
        let results = [
            ("due", report.due), ("already_claimed", report.alreadyClaimed), ("enqueued", report.enqueued),
            ("duplicate", report.duplicates), ("taken_up", report.takenUp), ("released", report.released),
        ]
        for (result, count) in results {
            registry.gauge(
                "reminder_run_users",
                help: "Users of the last run of the reminder producer, by what it came to.",
                labels: [("result", result)]
            )
            .set(Double(count))
        }
    }
}

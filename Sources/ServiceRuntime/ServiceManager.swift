import CSystemd
import Glibc

/// Talks to systemd (`sd_notify`). Where there is none (`NOTIFY_SOCKET` is not set) every call does nothing.
struct ServiceManager: Sendable {
    /// How long systemd waits between two signs of life, `nil` when it does not watch this process.
    let watchdogInterval: Duration?

    init() {
        var microseconds: UInt64 = 0
        watchdogInterval = sd_watchdog_enabled(0, &microseconds) > 0 ? .microseconds(Int64(microseconds)) : nil
    }

    func ready() { notify("READY=1\nSTATUS=running") }

    /// - Parameter deadline: how long the stop may take, so that systemd waits as long.
    func stopping(reason: String, deadline: Duration) {
        let (seconds, attoseconds) = deadline.components
        let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000 + 5_000_000
        notify("STOPPING=1\nSTATUS=stopping: \(reason)\nEXTEND_TIMEOUT_USEC=\(microseconds)")
    }

    func alive() { notify("WATCHDOG=1") }

    func status(_ text: String) { notify("STATUS=\(text)") }

    private func notify(_ state: String) {
        // A failure to notify has no one to tell but the log of systemd, which notices the silence itself.
        _ = sd_notify(0, state)
    }
}

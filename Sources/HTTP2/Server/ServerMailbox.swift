import Synchronization

/// What other threads want of the server's thread. It holds at most one answer for each open stream and the few commands of
/// those who steer connections.
final class ServerMailbox: Sendable {
    enum Command: Sendable {
        case respond(Int32, status: Int, headers: [HTTP2Header], body: [UInt8])
        case reset(Int32, UInt32)
        case setMaxConcurrentStreams(Int)
        case goAway(Int32?, UInt32, [UInt8])
        case abort
    }

    struct Mail {
        var commands: [(connectionID: Int, command: Command)] = []
        var stop = false

        var isEmpty: Bool { commands.isEmpty && !stop }
    }

    private struct Shared {
        var mail = Mail()
        var sleeping = false
        var stopped = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    let wakeup: Wakeup
    private let shared = Mutex(Shared())

    init() throws(HTTP2Error) {
        wakeup = try Wakeup()
    }

    func post(_ connectionID: Int, _ command: Command) {
        deliver { shared in
            guard !shared.stopped else { return }
            shared.mail.commands.append((connectionID, command))
        }
    }

    func stop() {
        deliver { $0.mail.stop = true }
    }

    func waitUntilStopped() async {
        await withCheckedContinuation { continuation in
            let stopped = shared.withLock { shared in
                if !shared.stopped { shared.waiters.append(continuation) }
                return shared.stopped
            }
            if stopped { continuation.resume() }
        }
    }

    private func deliver(_ change: (inout sending Shared) -> Void) {
        let wake = shared.withLock { shared in
            change(&shared)
            let wake = shared.sleeping && !shared.mail.isEmpty
            if wake { shared.sleeping = false }
            return wake
        }
        if wake { wakeup.signal() }
    }

    // MARK: The server's thread

    func take() -> Mail {
        shared.withLock { shared in
            shared.sleeping = false
            var mail = Mail()
            swap(&mail, &shared.mail)
            return mail
        }
    }

    /// Announces that the thread is about to wait, unless there is mail.
    func beginSleep() -> Bool {
        shared.withLock { shared in
            shared.sleeping = shared.mail.isEmpty
            return shared.sleeping
        }
    }

    func finish() {
        let waiters = shared.withLock { shared in
            shared.stopped = true
            shared.mail = Mail()
            defer { shared.waiters = [] }
            return shared.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

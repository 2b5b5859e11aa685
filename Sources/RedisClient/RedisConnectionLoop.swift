import CHiredis
import Glibc
import Kernel
import Observability
import Synchronization

/// The part of a client that lives on its thread: connects, writes what waits, reads answers, watches deadlines.
///
/// Tasks only put calls into the inbox and ring the bell (an eventfd). Calls that arrive while others wait for their answers
/// are written at once, so all callers share one pipeline.
final class RedisConnectionLoop: Sendable {
    struct Inbox: ~Copyable {
        var calls: [RedisCall] = []
        var isRung = false
        var isClosed = false
        var closeWaiters: [CheckedContinuation<Void, Never>] = []
        var hasEnded = false
    }

    let url: RedisURL
    let options: RedisClient.Options
    let telemetry: Telemetry
    let metrics: RedisMetrics
    /// Calls without a result yet.
    let outstanding = Atomic<Int>(0)
    private let inbox = Mutex(Inbox())
    private let bell: Int32

    init(url: RedisURL, options: RedisClient.Options, telemetry: Telemetry) {
        self.url = url
        self.options = options
        self.telemetry = telemetry
        metrics = RedisMetrics(registry: telemetry.metrics, label: options.label)
        bell = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        precondition(bell >= 0, "eventfd failed: the process has no file descriptors left")
    }

    deinit {
        Glibc.close(bell)
    }

    /// Puts a call into the inbox.
    /// - Returns: why it was refused, `nil` when it will get a result.
    func submit(_ call: RedisCall) -> RedisError? {
        let count = outstanding.wrappingAdd(1, ordering: .relaxed).newValue
        guard count <= options.maxOutstandingCalls else {
            outstanding.wrappingSubtract(1, ordering: .relaxed)
            metrics.refused.increment()
            return RedisError(.overloaded, "\(options.maxOutstandingCalls) calls are outstanding")
        }
        let accepted = inbox.withLock { inbox in
            guard !inbox.isClosed else { return false }
            inbox.calls.append(call)
            ring(&inbox)
            return true
        }
        guard accepted else {
            outstanding.wrappingSubtract(1, ordering: .relaxed)
            return RedisError(.closed, "the client was closed")
        }
        return nil
    }

    /// Asks the thread to end; outstanding calls fail.
    func requestClose() {
        inbox.withLock { inbox in
            inbox.isClosed = true
            ring(&inbox)
        }
    }

    /// Returns once the thread has ended.
    func waitUntilEnded() async {
        await withCheckedContinuation { continuation in
            let ended = inbox.withLock { inbox in
                if !inbox.hasEnded { inbox.closeWaiters.append(continuation) }
                return inbox.hasEnded
            }
            if ended { continuation.resume() }
        }
    }

    /// Runs until the client is closed. The only job of the client's thread.
    func run() {
        ignoreBrokenPipesOnThisThread()
        var session = RedisSession(loop: self)
        while true {
            let (calls, isClosed) = takeCalls()
            session.accept(calls)
            if isClosed { break }
            session.advance()
            session.wait(bell: bell)
        }
        session.failAll(RedisError(.closed, "the client was closed"))
        let waiters = inbox.withLock { inbox in
            inbox.hasEnded = true
            defer { inbox.closeWaiters = [] }
            return inbox.closeWaiters
        }
        for waiter in waiters { waiter.resume() }
    }

    private func takeCalls() -> ([RedisCall], isClosed: Bool) {
        inbox.withLock { inbox in
            if inbox.isRung {
                var count: UInt64 = 0
                _ = Glibc.read(bell, &count, 8)
                inbox.isRung = false
            }
            defer { inbox.calls.removeAll(keepingCapacity: true) }
            return (inbox.calls, inbox.isClosed)
        }
    }

    private func ring(_ inbox: inout Inbox) {
        guard !inbox.isRung else { return }
        inbox.isRung = true
        var one: UInt64 = 1
        _ = Glibc.write(bell, &one, 8)
    }

    /// Writing to a socket that the server closed shall be an error of that call, not the end of the process.
    private func ignoreBrokenPipesOnThisThread() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}

import Glibc

/// The signals a service answers to. They are blocked for every thread and taken one by one by the main thread, so that none
/// is lost, however early it comes, and no code ever runs inside a signal handler.
struct ProcessSignals {
    enum Received: Equatable {
        /// SIGTERM or SIGINT.
        case stop(String)
        /// SIGHUP: read again what can be read again.
        case reload
    }

    private let set: sigset_t

    /// Blocks the signals. Call it on the main thread before any other thread exists: threads inherit the mask.
    init() {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        self.set = set
        // A peer that went away is an error of the write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Waits for the next signal, blocking the thread.
    func next() -> Received {
        var set = set
        while true {
            var number: Int32 = 0
            guard sigwait(&set, &number) == 0 else { continue }
            switch number {
            case SIGHUP: return .reload
            case SIGINT: return .stop("SIGINT")
            default: return .stop("SIGTERM")
            }
        }
    }
}

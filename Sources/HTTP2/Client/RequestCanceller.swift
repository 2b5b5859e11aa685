import Synchronization

/// Brings together a request's number and its task's cancellation, whichever comes first.
final class RequestCanceller: Sendable {
    private struct State {
        var id: UInt64?
        var cancelled = false
    }

    private let mailbox: ClientMailbox
    private let state = Mutex(State())

    init(mailbox: ClientMailbox) {
        self.mailbox = mailbox
    }

    func began(_ id: UInt64) {
        let cancelled = state.withLock { state in
            state.id = id
            return state.cancelled
        }
        if cancelled { mailbox.cancel(id) }
    }

    func cancel() {
        let id = state.withLock { state in
            state.cancelled = true
            return state.id
        }
        if let id { mailbox.cancel(id) }
    }
}

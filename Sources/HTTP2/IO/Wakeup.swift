import CNghttp2
import Glibc

/// An eventfd: other threads signal it to end a thread's `poll` or `epoll_wait`.
final class Wakeup: Sendable {
    let descriptor: Int32

    init() throws(HTTP2Error) {
        descriptor = varsel_eventfd()
        guard descriptor >= 0 else { throw HTTP2Error(.connectFailed, "eventfd failed: \(systemMessage(errno))") }
    }

    deinit {
        close(descriptor)
    }

    /// Ends the wait. Signals that nobody has collected yet merge into one.
    func signal() {
        // It can only fail with EAGAIN, when the counter is full of signals: then the thread wakes anyway.
        varsel_eventfd_signal(descriptor)
    }

    /// Collects the signals.
    func collect() {
        varsel_eventfd_collect(descriptor)
    }
}

/// The system's text for an error number.
func systemMessage(_ number: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 128)
    guard strerror_r(number, &buffer, buffer.count) == 0 else { return "error \(number)" }
    let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return bytes.isEmpty ? "error \(number)" : String(decoding: bytes, as: UTF8.self)
}

/// Blocks every signal on the calling thread: signals belong to the main thread, and a write to a closed socket then
/// fails with EPIPE where SIGPIPE would end the process.
func blockSignals() {
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
}

import Glibc
import Synchronization

/// A thread of its own for work that blocks: every call into a C library that may wait runs on one of these, never on the
/// cooperative pool, where two blocked threads would stop a two-core process.
///
/// Jobs run one after another in the order they were given. A hop here and back costs about 20 µs, so a job should carry a
/// group of work, never a single field.
package final class SerialThread: Sendable {
    /// What a job handed to a full or stopped thread gets.
    package enum Refusal: Error, Equatable {
        /// More than `capacity` jobs are waiting.
        case full
        /// `stop()` was called.
        case stopped
    }

    private let mailbox: Mailbox

    /// Starts the thread.
    /// - Parameters:
    ///   - name: shown by `ps -T` and `top -H`; the kernel keeps 15 bytes.
    ///   - capacity: how many jobs may wait.
    package init(name: String, capacity: Int = 4096) {
        mailbox = Mailbox(capacity: capacity)
        let start = Unmanaged.passRetained(ThreadStart(name: name, mailbox: mailbox))
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, 512 * 1024)
        let result = pthread_create(&thread, &attributes, runThread, start.toOpaque())
        pthread_attr_destroy(&attributes)
        precondition(result == 0, "pthread_create failed with \(result)")
    }

    deinit {
        mailbox.stop()
    }

    /// Runs `body` on the thread and returns its result.
    /// - Throws: what `body` throws, or a `Refusal`.
    package func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let refusal = mailbox.post {
                continuation.resume(with: Result { try body() })
            }
            if let refusal { continuation.resume(throwing: refusal) }
        }
    }

    /// Hands `body` over without waiting for it.
    /// - Returns: why the job was refused, or `nil` when it will run.
    @discardableResult
    package func post(_ body: @escaping @Sendable () -> Void) -> Refusal? {
        mailbox.post(body)
    }

    /// Lets the waiting jobs finish, then ends the thread. Later jobs are refused.
    package func stop() {
        mailbox.stop()
    }
}

/// The jobs that wait for the thread, guarded by a lock and announced by a condition variable.
private final class Mailbox: @unchecked Sendable {
    // Unchecked, because the compiler cannot see that every access to `jobs` and `stopped` holds `lock`.
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let signal: UnsafeMutablePointer<pthread_cond_t>
    private let capacity: Int
    private var jobs: [@Sendable () -> Void] = []
    private var stopped = false

    init(capacity: Int) {
        self.capacity = capacity
        lock = .allocate(capacity: 1)
        signal = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        pthread_cond_init(signal, nil)
    }

    deinit {
        pthread_mutex_destroy(lock)
        pthread_cond_destroy(signal)
        lock.deallocate()
        signal.deallocate()
    }

    func post(_ job: @escaping @Sendable () -> Void) -> SerialThread.Refusal? {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        if stopped { return .stopped }
        if jobs.count >= capacity { return .full }
        jobs.append(job)
        pthread_cond_signal(signal)
        return nil
    }

    func stop() {
        pthread_mutex_lock(lock)
        stopped = true
        pthread_cond_signal(signal)
        pthread_mutex_unlock(lock)
    }

    /// Waits for jobs; an empty answer means the thread shall end.
    func take() -> [@Sendable () -> Void] {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while jobs.isEmpty && !stopped { pthread_cond_wait(signal, lock) }
        defer { jobs.removeAll(keepingCapacity: true) }
        return jobs
    }
}

private final class ThreadStart {
    let name: String
    let mailbox: Mailbox

    init(name: String, mailbox: Mailbox) {
        self.name = name
        self.mailbox = mailbox
    }
}

private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
    nameCurrentThread(start.name)
    let mailbox = start.mailbox
    while true {
        let jobs = mailbox.take()
        if jobs.isEmpty { return nil }
        for job in jobs { job() }
    }
}

/// Swift's Glibc module lacks `pthread_setname_np`; the kernel takes the name through this file too.
private func nameCurrentThread(_ name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY)
    guard file >= 0 else { return }
    _ = write(file, name, min(name.utf8.count, 15))
    close(file)
}

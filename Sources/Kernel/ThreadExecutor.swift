import Glibc

/// Runs tasks on one thread of its own, with timers of its own.
///
/// A task that was started with `Task(executorPreference:)` goes on here even when every thread of the cooperative pool is
/// blocked, as long as it sleeps by an `Alarm` and not by `Task.sleep`. It is for work that must not be starved by the code of
/// others, such as renewing locks. A hop here costs two thread switches, so a task should do a group of work for each.
package final class ThreadExecutor: TaskExecutor {
    private let agenda = Agenda()

    /// Starts the thread. It ends when the executor and all its tasks are gone.
    /// - Parameter name: shown by `ps -T` and `top -H`; the kernel keeps 15 bytes.
    package init(name: String) {
        let thread = SerialThread(name: name, capacity: 1)
        let agenda = self.agenda
        // The only job of the thread; when it ends, so does the thread, which nobody holds any more.
        thread.post {
            agenda.run()
            thread.stop()
        }
    }

    deinit {
        agenda.stop()
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        agenda.add(UnownedJob(job), executor: asUnownedTaskExecutor())
    }

    /// A new alarm whose waits end on time even when the cooperative pool is blocked.
    package func makeAlarm() -> Alarm {
        Alarm(agenda: agenda)
    }
}

/// Lets one task wait for a moment or for a call, whichever comes first. A call without a waiter is kept for the next wait.
package final class Alarm: Sendable {
    private let agenda: Agenda
    private let index: Int

    fileprivate init(agenda: Agenda) {
        self.agenda = agenda
        index = agenda.addAlarm()
    }

    deinit {
        agenda.removeAlarm(index)
    }

    /// Ends the wait that is under way, or the next one.
    package func ring() {
        agenda.ring(index)
    }

    /// Returns when the alarm rings or the moment has come; without a moment only when it rings. One task at a time may wait.
    package func wait(until deadline: ContinuousClock.Instant?) async {
        await withCheckedContinuation { continuation in
            agenda.wait(index, until: deadline, continuation)
        }
    }
}

/// The jobs and alarms of one executor, guarded by a lock and announced by a condition variable.
private final class Agenda: @unchecked Sendable {
    // Unchecked, because the compiler cannot see that every access to the variables holds `lock`.
    private struct Slot {
        var isUsed = true
        var isRung = false
        var deadline: ContinuousClock.Instant?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let signal: UnsafeMutablePointer<pthread_cond_t>
    private var jobs: [(UnownedJob, UnownedTaskExecutor)] = []
    private var alarms: [Slot] = []
    private var isStopped = false

    init() {
        lock = .allocate(capacity: 1)
        signal = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // A step of the wall clock shall not move the deadlines.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(signal, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_mutex_destroy(lock)
        pthread_cond_destroy(signal)
        lock.deallocate()
        signal.deallocate()
    }

    private func locked<Value>(_ body: () -> Value) -> Value {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return body()
    }

    func add(_ job: UnownedJob, executor: UnownedTaskExecutor) {
        locked {
            jobs.append((job, executor))
            pthread_cond_signal(signal)
        }
    }

    func stop() {
        locked {
            isStopped = true
            pthread_cond_signal(signal)
        }
    }

    func addAlarm() -> Int {
        locked {
            if let free = alarms.firstIndex(where: { !$0.isUsed }) {
                alarms[free] = Slot()
                return free
            }
            alarms.append(Slot())
            return alarms.count - 1
        }
    }

    func removeAlarm(_ index: Int) {
        locked { alarms[index].isUsed = false }
    }

    func ring(_ index: Int) {
        let waiter = locked { () -> CheckedContinuation<Void, Never>? in
            guard let waiter = alarms[index].waiter else {
                alarms[index].isRung = true
                return nil
            }
            alarms[index].waiter = nil
            alarms[index].deadline = nil
            return waiter
        }
        waiter?.resume()
    }

    func wait(
        _ index: Int,
        until deadline: ContinuousClock.Instant?,
        _ continuation: CheckedContinuation<Void, Never>
    ) {
        let isOver = locked {
            if alarms[index].isRung {
                alarms[index].isRung = false
                return true
            }
            alarms[index].waiter = continuation
            alarms[index].deadline = deadline
            // The thread may sleep towards a later moment.
            if deadline != nil { pthread_cond_signal(signal) }
            return false
        }
        if isOver { continuation.resume() }
    }

    /// Works until the executor is gone. The thread's only job.
    func run() {
        while true {
            let (jobs, waiters, isOver) = take()
            for waiter in waiters { waiter.resume() }
            for (job, executor) in jobs { job.runSynchronously(on: executor) }
            if isOver { return }
        }
    }

    /// Waits for jobs and for alarms whose moment has come.
    private func take() -> (
        jobs: [(UnownedJob, UnownedTaskExecutor)], waiters: [CheckedContinuation<Void, Never>], isOver: Bool
    ) {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while true {
            let (waiters, next) = dueAlarms()
            if !jobs.isEmpty || !waiters.isEmpty || isStopped {
                let taken = jobs
                jobs = []
                return (taken, waiters, taken.isEmpty && waiters.isEmpty)
            }
            if let next { sleep(until: next) } else { pthread_cond_wait(signal, lock) }
        }
    }

    private func dueAlarms() -> ([CheckedContinuation<Void, Never>], next: ContinuousClock.Instant?) {
        var waiters: [CheckedContinuation<Void, Never>] = []
        var next: ContinuousClock.Instant?
        var now: ContinuousClock.Instant?
        for index in alarms.indices {
            guard let deadline = alarms[index].deadline, let waiter = alarms[index].waiter else { continue }
            let moment = now ?? .now
            now = moment
            if deadline <= moment {
                waiters.append(waiter)
                alarms[index].waiter = nil
                alarms[index].deadline = nil
            } else {
                next = next.map { min($0, deadline) } ?? deadline
            }
        }
        return (waiters, next)
    }

    private func sleep(until moment: ContinuousClock.Instant) {
        let (seconds, attoseconds) = max(moment - .now, .zero).components
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let total = Int64(time.tv_nsec) + attoseconds / 1_000_000_000
        time.tv_sec += Int(seconds + total / 1_000_000_000)
        time.tv_nsec = Int(total % 1_000_000_000)
        pthread_cond_timedwait(signal, lock, &time)
    }
}

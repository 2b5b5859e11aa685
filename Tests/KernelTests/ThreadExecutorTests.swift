import Glibc
import Kernel
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ThreadExecutorTests {
    private func threadID() -> UInt { UInt(pthread_self()) }

    @Test func `a task stays on the executor's thread, also after it waited`() async {
        let executor = ThreadExecutor(name: "test")
        let alarm = executor.makeAlarm()
        let threads = await Task(executorPreference: executor) {
            var threads = [threadID()]
            for _ in 0..<3 {
                await alarm.wait(until: .now + .milliseconds(1))
                threads.append(threadID())
            }
            return threads
        }.value
        #expect(Set(threads).count == 1)
    }

    @Test func `a ring ends a wait that has no end of its own`() async {
        let executor = ThreadExecutor(name: "test")
        let alarm = executor.makeAlarm()
        let waiting = Task(executorPreference: executor) { await alarm.wait(until: nil) }
        alarm.ring()
        await waiting.value
    }

    @Test func `waits end in the order of their moments`() async {
        let executor = ThreadExecutor(name: "test")
        let start = ContinuousClock.now
        var order: [Int] = []
        await withTaskGroup(of: Int.self) { group in
            for delay in [30, 10, 20] {
                group.addTask(executorPreference: executor) {
                    await executor.makeAlarm().wait(until: start + .milliseconds(delay))
                    return delay
                }
            }
            for await delay in group { order.append(delay) }
        }
        #expect(order == [10, 20, 30])
    }

    @Test func `tasks go on while every thread of the cooperative pool is blocked`() async {
        let executor = ThreadExecutor(name: "test")
        let alarm = executor.makeAlarm()
        let count = max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1) * 2
        let gate = Gate()
        // The gate opens from the executor's thread only: a task that needed the pool would never come to that.
        let opener = Task(executorPreference: executor) {
            while gate.blocked == 0 { await alarm.wait(until: .now + .milliseconds(1)) }
            for _ in 0..<20 { await alarm.wait(until: .now + .milliseconds(1)) }
            gate.open()
        }
        await withDiscardingTaskGroup { group in
            for _ in 0..<count { group.addTask { gate.block() } }
        }
        await opener.value
    }
}

/// Blocks threads until it is opened.
private final class Gate: Sendable {
    private let count = Atomic<Int>(0)
    private let isOpen = Atomic<Bool>(false)

    var blocked: Int { count.load(ordering: .relaxed) }

    func open() { isOpen.store(true, ordering: .relaxed) }

    func block() {
        count.wrappingAdd(1, ordering: .relaxed)
        while !isOpen.load(ordering: .relaxed) { usleep(500) }
    }
}

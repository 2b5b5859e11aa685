import Testing

@testable import ServiceRuntime

struct LifecycleTests {
    private func running(tasks: Int) -> Lifecycle {
        var lifecycle = Lifecycle()
        for task in 0..<tasks { lifecycle.register(task) }
        #expect(lifecycle.handle(.started) == [.runTasks, .announceReady])
        return lifecycle
    }

    @Test func `a stop in time ends with 0`() {
        var lifecycle = running(tasks: 2)
        #expect(lifecycle.handle(.signalled("SIGTERM")) == [.beginStop(reason: "SIGTERM")])
        #expect(lifecycle.handle(.stopRequested("SIGTERM")) == [])
        #expect(lifecycle.handle(.taskEnded(1, problem: nil)) == [])
        #expect(lifecycle.handle(.taskEnded(0, problem: nil)) == [.exit(0, leftBehind: [])])
        #expect(lifecycle.handle(.deadlinePassed) == [])
    }

    @Test func `a task that crashes stops the others and ends with 70`() {
        var lifecycle = running(tasks: 2)
        #expect(
            lifecycle.handle(.taskEnded(0, problem: "boom")) == [
                .logCrash(task: 0, problem: "boom"), .beginStop(reason: "a task ended"),
            ]
        )
        #expect(lifecycle.handle(.signalled("SIGTERM")) == [], "the first signal does not hurry a stop under way")
        #expect(lifecycle.handle(.taskEnded(1, problem: nil)) == [.exit(70, leftBehind: [])])
    }

    @Test func `the last task that crashes ends the process at once`() {
        var lifecycle = running(tasks: 1)
        #expect(
            lifecycle.handle(.taskEnded(0, problem: "boom")) == [
                .logCrash(task: 0, problem: "boom"), .beginStop(reason: "a task ended"), .exit(70, leftBehind: []),
            ]
        )
    }

    @Test func `tasks that do not stop are cancelled, then left behind`() {
        var lifecycle = running(tasks: 3)
        _ = lifecycle.handle(.signalled("SIGTERM"))
        _ = lifecycle.handle(.taskEnded(1, problem: nil))
        #expect(lifecycle.handle(.deadlinePassed) == [.cancelTasks([0, 2])])
        #expect(lifecycle.handle(.taskEnded(0, problem: nil)) == [])
        #expect(lifecycle.handle(.deadlinePassed) == [.exit(70, leftBehind: [2])])
    }

    @Test func `a second signal means now`() {
        var lifecycle = running(tasks: 1)
        _ = lifecycle.handle(.signalled("SIGINT"))
        #expect(lifecycle.handle(.signalled("SIGINT")) == [.cancelTasks([0])])
        #expect(lifecycle.handle(.signalled("SIGINT")) == [])
    }

    @Test func `a stop during the start lets the tasks never run`() {
        var lifecycle = Lifecycle()
        #expect(lifecycle.handle(.signalled("SIGTERM")) == [.beginStop(reason: "SIGTERM")])
        lifecycle.register(0)
        #expect(lifecycle.handle(.started) == [.exit(0, leftBehind: [])])
    }

    @Test func `a start that fails because it was stopped is no failure`() {
        var lifecycle = Lifecycle()
        _ = lifecycle.handle(.signalled("SIGTERM"))
        #expect(lifecycle.handle(.startFailed("cancelled", exitCode: 70)) == [.exit(0, leftBehind: [])])
    }

    @Test func `a start that fails ends with its code`() {
        var lifecycle = Lifecycle()
        #expect(
            lifecycle.handle(.startFailed("schema is old", exitCode: 78)) == [
                .logStartFailure("schema is old"), .exit(78, leftBehind: []),
            ]
        )
    }
}

import Foundation
import Observability
import Synchronization
import Testing

@testable import ServiceRuntime

struct ServiceRunnerTests {
    private struct Boom: Error {}

    private func make(stopDeadline: Duration = .seconds(60)) -> (Service, ServiceRunner, MemorySink) {
        let sink = MemorySink()
        let service = Service(name: "test", telemetry: .silent(sink: sink))
        let runner = ServiceRunner(service: service, stopDeadline: stopDeadline, cancelDeadline: .milliseconds(50))
        return (service, runner, sink)
    }

    @Test func `a signal stops the tasks, then the cleanups run, the last first`() async {
        let (_, runner, _) = make()
        let steps = Mutex<[String]>([])
        let code = await runner.run { service in
            service.cleanup { steps.withLock { $0.append("pool closed") } }
            service.cleanup { steps.withLock { $0.append("server closed") } }
            service.task("worker") { stop in
                runner.signalled("SIGTERM")
                await stop.wait()
                steps.withLock { $0.append("worker ended by \(stop.reason ?? "")") }
            }
        }
        #expect(code == 0)
        #expect(steps.withLock { $0 } == ["worker ended by SIGTERM", "server closed", "pool closed"])
    }

    @Test func `a signal that comes before the start is not lost`() async {
        let (_, runner, _) = make()
        runner.signalled("SIGTERM")
        let code = await runner.run { service in
            service.task("worker") { _ in Issue.record("the task ran although the stop came first") }
            await service.stop.wait()
        }
        #expect(code == 0)
    }

    @Test func `a start that waits for something is cancelled by the stop, and what it opened is closed`() async {
        let (_, runner, sink) = make()
        let closed = Mutex(false)
        let code = await runner.run { service in
            service.cleanup { closed.withLock { $0 = true } }
            runner.signalled("SIGTERM")
            try await Task.sleep(for: .seconds(3600))
        }
        #expect(code == 0)
        #expect(closed.withLock { $0 })
        #expect(!sink.lines.contains { $0.contains("did not start") })
    }

    @Test func `a part of the service may ask for the end`() async {
        let (_, runner, _) = make()
        let code = await runner.run { service in
            service.task("one") { stop in stop.request(reason: "done") }
            service.task("two") { stop in await stop.wait() }
        }
        #expect(code == 0)
    }

    @Test func `a crash is logged with the task's name, stops the others and ends with 70`() async {
        let (_, runner, sink) = make()
        let code = await runner.run { service in
            service.task("claims") { _ in throw Boom() }
            service.task("metrics") { stop in await stop.wait() }
        }
        #expect(code == 70)
        #expect(sink.lines.contains { $0.contains("\"task\":\"claims\"") && $0.contains("Boom") })
    }

    @Test func `a task that returns before the stop is a crash unless it may finish`() async {
        let (_, runner, sink) = make()
        let code = await runner.run { service in
            service.task("once", mayFinish: true) { _ in }
            service.task("loop") { _ in }
        }
        #expect(code == 70)
        let crashes = sink.lines.filter { $0.contains("a task of the service ended") }
        #expect(crashes.count == 1)
        #expect(crashes.first?.contains("\"task\":\"loop\"") == true)
    }

    @Test func `a task that ignores the stop is cancelled and, if need be, left behind`() async {
        let (_, runner, sink) = make(stopDeadline: .milliseconds(1))
        let forgotten = Mutex<[CheckedContinuation<Void, Never>]>([])
        let code = await runner.run { service in
            service.task("deaf") { _ in
                runner.signalled("SIGTERM")
                // Waits for something that never comes, and does not hear the cancellation.
                await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                    forgotten.withLock { $0.append(continuation) }
                }
            }
        }
        #expect(code == 70)
        #expect(sink.lines.contains { $0.contains("stop deadline passed") && $0.contains("deaf") })
        #expect(sink.lines.contains { $0.contains("tasks left behind") && $0.contains("deaf") })
        for continuation in forgotten.withLock({ $0 }) { continuation.resume() }
    }

    @Test func `a cleanup that hangs does not keep the process`() async {
        let (_, runner, sink) = make()
        let code = await runner.run { service in
            service.cleanup { await StopSignal().wait() }
            service.task("one") { stop in stop.request(reason: "done") }
        }
        #expect(code == 0)
        #expect(sink.lines.contains { $0.contains("cleanup took too long") })
    }

    @Test func `a configuration problem found during the start ends with 78`() async {
        let (_, runner, sink) = make()
        let code = await runner.run { _ in
            throw ConfigError(name: "DATABASE_URL", problem: "schema 3 is too old", fix: "Run varselctl migrate.")
        }
        #expect(code == 78)
        #expect(sink.lines.contains { $0.contains("Run varselctl migrate.") })
    }
}

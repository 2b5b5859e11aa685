import ServiceRuntime
import Synchronization
import Testing

struct StopSignalTests {
    @Test func `those who wait are woken once, those who come later at once`() async {
        let stop = StopSignal()
        async let first: Void = stop.wait()
        async let second: Void = stop.wait()
        #expect(!stop.isRequested)
        stop.request(reason: "SIGTERM")
        stop.request(reason: "again")
        _ = await (first, second)
        await stop.wait()
        #expect(stop.reason == "SIGTERM")
    }

    @Test func `a cancelled task waits no longer`() async {
        let stop = StopSignal()
        let task = Task { await stop.wait() }
        task.cancel()
        await task.value
        #expect(!stop.isRequested)
    }

    @Test func `handlers run once and may use the signal`() {
        let stop = StopSignal()
        let calls = Mutex(0)
        stop.onRequest {
            calls.withLock { $0 += stop.isRequested ? 1 : 100 }
            stop.request(reason: "nested")
        }
        stop.request(reason: "x")
        stop.onRequest { calls.withLock { $0 += 1 } }
        #expect(calls.withLock { $0 } == 2)
    }

    @Test func `a sleep ends with the stop and says so`() async {
        let stop = StopSignal()
        #expect(await stop.sleep(for: .milliseconds(1)))
        async let goesOn = stop.sleep(for: .seconds(3600))
        stop.request(reason: "x")
        #expect(await goesOn == false)
        #expect(await stop.sleep(for: .seconds(3600)) == false)
    }
}

import Kernel
import Testing

struct ConcurrencyTests {
    @Test func `a serial thread runs jobs in order and refuses them once stopped`() async throws {
        let thread = SerialThread(name: "test")
        let first = try await thread.run { 1 }
        let second = try await thread.run { first + 1 }
        #expect(second == 2)
        thread.stop()
        await #expect(throws: SerialThread.Refusal.stopped) { _ = try await thread.run { 0 } }
    }

    @Test func `errors of a job reach the caller`() async {
        struct Broken: Error {}
        let thread = SerialThread(name: "test")
        await #expect(throws: Broken.self) { try await thread.run { throw Broken() } }
    }

    @Test func `a full channel holds back its sender until there is room`() async {
        let channel = BoundedChannel<Int>(capacity: 2)
        let sender = Task {
            for number in 0..<1000 { await channel.send(number) }
            channel.finish()
        }
        var received: [Int] = []
        var most = 0
        while true {
            most = max(most, channel.count)
            let batch = await channel.receive(upTo: 3)
            if batch.isEmpty { break }
            received += batch
        }
        await sender.value
        #expect(received == Array(0..<1000))
        #expect(most <= 2)
    }

    @Test func `a finished channel refuses and delivers what it holds`() async {
        let channel = BoundedChannel<Int>(capacity: 4)
        await channel.send(1)
        channel.finish()
        #expect(await channel.send(2) == false)
        #expect(await channel.receive() == 1)
        #expect(await channel.receive() == nil)
    }

    @Test(arguments: 0..<40)
    func `backoff doubles up to its limit, with jitter over the upper half`(attempt: Int) {
        let backoff = Backoff(base: .milliseconds(100), limit: .seconds(10))
        var generator = SystemRandomNumberGenerator()
        let step = min(100 << min(attempt, 30), 10_000)
        let delay = backoff.delay(attempt: attempt, using: &generator).milliseconds
        #expect(delay >= Int64(step / 2) && delay <= Int64(step))
    }
}

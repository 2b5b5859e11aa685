import JobQueue
import Kernel
import RedisClient
import TestSupport
import Testing

struct WaitTests {
    @Test func `a waiting worker is woken by an added job and is visible to dashboards`() async throws {
        try await QueueFixture.run { fixture in
            // "q" in base64.
            let name = "name=\(fixture.redis.prefix):cQ==:w:w1"
            let waiting = Task {
                await fixture.consumer.waitForWork(upTo: .seconds(60), nextDue: nil)
            }
            func isBlocked() async throws -> Bool {
                let clients = try await fixture.command("CLIENT", "LIST").requireString("CLIENT LIST")
                return clients.split(separator: "\n").contains {
                    $0.contains(" \(name) ") && $0.contains(" cmd=bzpopmin ")
                }
            }
            while try await !isBlocked() { await Task.yield() }
            try await fixture.addPlain(1)
            await waiting.value
            #expect(try await fixture.consumer.claim(limit: 1).jobs.count == 1)
        }
    }

    @Test func `a due time that has come is not waited for`() async throws {
        try await QueueFixture.run { fixture in
            await fixture.consumer.waitForWork(upTo: .seconds(60), nextDue: QueueFixture.start)
            await fixture.consumer.waitForWork(upTo: .seconds(60), nextDue: QueueFixture.start + .milliseconds(20))
            await fixture.consumer.waitForWork(upTo: .milliseconds(5), nextDue: nil)
        }
    }
}

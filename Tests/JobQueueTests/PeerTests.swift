import Foundation
import JobQueue
import Kernel
import RedisClient
import TestSupport
import Testing

/// Our queue and BullMQ's Python clients on the same keys, in both directions.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct PeerTests {
    private static let data: JSONValue = [
        "text": "ünï", "nested": ["a": [1, "x", nil, false]], "big": 123_456_789_012,
    ]

    /// How BullMQ's getJobCounts shows our counts.
    private func peerCounts(_ fixture: QueueFixture) async throws -> [String: Int] {
        let counts = try await fixture.queue.counts()
        return [
            "wait": counts.waiting, "paused": counts.paused, "active": counts.active, "prioritized": counts.prioritized,
            "delayed": counts.delayed, "completed": counts.completed, "failed": counts.failed,
            "waiting-children": counts.waitingChildren,
        ]
    }

    private func numbers(_ value: JSONValue) -> [String: Int] {
        Dictionary(uniqueKeysWithValues: (value.members ?? []).map { ($0.name, Int($0.value.integerValue ?? -1)) })
    }

    @Test(arguments: Peer.all)
    func `what the peer adds we claim and finish, and the peer reads our result`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            try await peer.run(
                "add",
                [
                    ["first", Self.data, ["attempts": 3, "removeOnComplete": ["count": 10, "age": 100]]],
                    ["second", [:], ["priority": 5]], ["third", [:], ["priority": 1]],
                    ["fourth", [:], ["jobId": "custom"]], ["fourth", [:], ["jobId": "custom"]],
                    ["fifth", [:], ["delay": 60_000]], ["sixth", [:], ["lifo": true]],
                ],
                on: fixture
            )
            // The peer's jobs carry the true time.
            let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
            fixture.clock.advance(by: now - QueueFixture.start)
            var jobs: [ClaimedJob] = []
            for limit in [1, 2, 10] { jobs += try await fixture.consumer.claim(limit: limit).jobs }
            #expect(jobs.map(\.name).sorted() == ["first", "fourth", "second", "sixth", "third"])
            #expect(jobs.first?.name == "sixth")
            let ranked = jobs.filter { $0.priority > 0 }.map(\.name)
            #expect(ranked == ["third", "second"])
            let first = try #require(jobs.first { $0.name == "first" })
            #expect(try JSONValue(parsing: first.data) == Self.data)
            #expect(first.options["attempts"]?.integerValue == 3)
            #expect(first.timestamp != nil)
            let results = try await fixture.consumer.finish(
                jobs.map { job in
                    job.name == "second"
                        ? FinishedJob(job.locked, .failed(reason: "dead token", trace: "trace"))
                        : FinishedJob(job.locked, .completed(returnvalue: #"{"outcome":"sent"}"#))
                }
            )
            #expect(results.allSatisfy { $0 == .done })
            let counts = try await peer.run("counts", on: fixture)
            #expect(numbers(counts).merging(["paused": 0]) { old, _ in old } == (try await peerCounts(fixture)))
            let read = try await peer.run("job", .string(first.id), on: fixture)
            #expect(read["state"] == "completed")
            #expect(read["returnvalue"]?["outcome"] == "sent")
            #expect(read["attemptsMade"] == 1)
            #expect(read["data"] == Self.data)
            let failed = try #require(jobs.first { $0.name == "second" })
            let readFailed = try await peer.run("job", .string(failed.id), on: fixture)
            #expect(readFailed["state"] == "failed")
            #expect(readFailed["failedReason"] == "dead token")
            #expect(readFailed["stacktrace"] == ["trace"])
        }
    }

    @Test(arguments: Peer.all)
    func `what we add the peer runs, retries included`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.addBulk([
                NewJob(name: "plain", data: Self.data.text),
                NewJob(name: "ranked", data: "{}", options: JobOptions(priority: 7)),
                NewJob(name: "named", data: "{}", options: JobOptions(jobID: "own-id")),
                NewJob(
                    name: "retried",
                    data: #"{"fail":1}"#,
                    options: JobOptions(attempts: 2, backoff: .fixed(.milliseconds(20)))
                ),
                NewJob(name: "late", data: "{}", options: JobOptions(delay: .milliseconds(1))),
            ])
            let done = try await peer.run("work", ["count": 5], on: fixture)
            #expect(Set((done.arrayValue ?? []).compactMap(\.stringValue)) == ["1", "2", "own-id", "4", "5"])
            #expect(try await fixture.expectAtRest(jobs: 5))
            let retried = try #require(try await fixture.queue.job("4"))
            #expect(retried.state == "completed")
            #expect(retried.fields["atm"] == "2")
            #expect(retried.fields["returnvalue"].map { try? JSONValue(parsing: $0) } == ["by": "peer"])
        }
    }

    @Test(arguments: Peer.all)
    func `a large group of ours is run by the peer, each job once`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(2000)
            let done = try await peer.run("work", ["count": 2000, "concurrency": 50], on: fixture)
            let ids = (done.arrayValue ?? []).compactMap(\.stringValue)
            #expect(ids.count == 2000)
            #expect(Set(ids).count == 2000)
        }
    }

    @Test(arguments: Peer.all)
    func `pausing and resuming loses nothing, whoever does it`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(1)
            try await peer.run("pause", on: fixture)
            #expect(try await fixture.consumer.claim(limit: 5).isPaused)
            try await fixture.addPlain(1)
            try await peer.run("resume", on: fixture)
            let jobs = try await fixture.consumer.claim(limit: 5).jobs
            #expect(jobs.map(\.id) == ["1", "2"])
            try await fixture.queue.pause()
            try await peer.run("add", [["n", [:], [:]]], on: fixture)
            try await fixture.queue.resume()
            #expect(try await fixture.consumer.claim(limit: 5).jobs.map(\.id) == ["3"])
        }
    }

    @Test(arguments: Peer.all)
    func `a job of a peer that was killed comes back to us`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
            fixture.clock.advance(by: now - QueueFixture.start)
            try await fixture.addPlain(1)
            // The lock lasts 1.5 seconds.
            let (process, output) = try await peer.start("hang", 1500, on: fixture)
            try await fixture.eventually(\.active, 1)
            try await process.end(SIGKILL)
            try? FileManager.default.removeItem(atPath: output)
            try await eventually { try await !fixture.exists("1:lock") }
            fixture.clock.advance(by: .seconds(60))
            #expect(try await fixture.consumer.recoverStalled().recovered == ["1"])
            let job = try #require(try await fixture.consumer.claim(limit: 1).jobs.first)
            #expect(job.attemptsStarted == 2)
            #expect(job.stalledCount == 1)
        }
    }

    @Test(arguments: Peer.all)
    func `a job that we let stall is recovered by the peer`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            try await fixture.addPlain(1)
            _ = try await fixture.consumer.claim(limit: 1)
            _ = try await fixture.command("DEL", fixture.key("1:lock"))
            let done = try await peer.run("recover", 300, on: fixture)
            #expect(done == ["1"])
            #expect(try await fixture.queue.job("1")?.state == "completed")
        }
    }

    @Test(arguments: Peer.all)
    func `children that we finish let their parent go on`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            let parent = try #require(try await peer.run("flow", on: fixture).stringValue)
            let children = try await fixture.consumer.claim(limit: 5).jobs
            #expect(children.map(\.name) == ["child", "child"])
            for (index, child) in children.enumerated() {
                #expect(try await fixture.consumer.claim(limit: 5).jobs.isEmpty)
                _ = try await fixture.consumer.finish([
                    FinishedJob(child.locked, .completed(returnvalue: "\(index)"))
                ])
            }
            let next = try await fixture.consumer.claim(limit: 5).jobs
            #expect(next.map(\.id) == [parent])
            let values = try await peer.run("children", .string(parent), on: fixture)
            #expect(Set((values.arrayValue ?? []).compactMap(\.integerValue)) == [0, 1])
        }
    }

    @Test(arguments: Peer.all)
    func `a child that we fail fails its parent when it is meant to`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            let parent = try #require(
                try await peer.run("flow", ["failParentOnFailure": true], on: fixture).stringValue
            )
            let children = try await fixture.consumer.claim(limit: 5).jobs
            _ = try await fixture.consumer.finish([FinishedJob(children[0].locked, .failed(reason: "no"))])
            let next = try #require(try await fixture.consumer.claim(limit: 5).jobs.first)
            #expect(next.id == parent)
            #expect(next.deferredFailure?.hasSuffix(":\(children[0].id) failed") == true)
        }
    }

    @Test(arguments: Peer.all)
    func `a peer's deduplication id is free again when we finished its job`(peer: Peer) async throws {
        try await QueueFixture.run { fixture in
            let add: JSONValue = [["n", [:], ["deduplication": ["id": "d"]]]]
            #expect(try await peer.run("add", add, on: fixture) == ["1"])
            #expect(try await peer.run("add", add, on: fixture) == ["1"])
            let job = try #require(try await fixture.consumer.claim(limit: 5).jobs.first)
            _ = try await fixture.consumer.finish([FinishedJob(job.locked, .completed(returnvalue: "1"))])
            #expect(try await peer.run("add", add, on: fixture) == ["3"])
        }
    }
}

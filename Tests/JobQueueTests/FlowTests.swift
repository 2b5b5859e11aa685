import JobQueue
import Kernel
import Observability
import RedisClient
import TestSupport
import Testing

/// Trees of jobs (B3).
struct FlowTests {
    private func node(
        _ name: String,
        _ options: JobOptions = JobOptions(),
        children: [FlowJob] = []
    ) -> FlowJob {
        FlowJob(NewJob(name: name, data: "{}", options: options), children: children)
    }

    private func finish(
        _ fixture: QueueFixture,
        _ job: ClaimedJob,
        failed reason: String? = nil
    ) async throws {
        let result: FinishedJob.Result =
            reason.map { .failed(reason: $0) } ?? .completed(returnvalue: "\"\(job.name)\"")
        #expect(try await fixture.consumer.finish([FinishedJob(job.locked, result)]) == [.done])
    }

    private func claim(_ fixture: QueueFixture) async throws -> [ClaimedJob] {
        try await fixture.consumer.claim(limit: 10).jobs
    }

    @Test func `a tree runs from its leaves up, and values reach the parent`() async throws {
        try await QueueFixture.run { fixture in
            let flow = try await fixture.queue.addFlow(
                node("root", children: [node("a", children: [node("a1"), node("a2")]), node("b")])
            )
            #expect(flow.result == .added(id: "1"))
            #expect(flow.children.map(\.result.id) == ["2", "5"])
            #expect(flow.children[0].children.map(\.result.id) == ["3", "4"])
            #expect(try await fixture.sortedSet("waiting-children") == ["1", "2"])
            let parent = try JSONValue(parsing: try #require(try await fixture.hash("3")["parent"]))
            #expect(parent["id"] == "2")
            #expect(parent["queueKey"] == .string("\(fixture.queue.name)"))
            #expect(try await fixture.hash("3")["parentKey"] == fixture.queue.name.keyPrefix + "2")
            #expect(try await fixture.events().prefix(2) == ["added jobId=1 name=root", "waiting-children jobId=1"])

            let leaves = try await claim(fixture)
            #expect(leaves.map(\.name) == ["a1", "a2", "b"])
            try await finish(fixture, leaves[0])
            try await finish(fixture, leaves[2])
            #expect(try await claim(fixture).isEmpty)
            try await finish(fixture, leaves[1])
            let middle = try await claim(fixture)
            #expect(middle.map(\.name) == ["a"])
            let children = try #require(try await fixture.queue.children(of: "2"))
            #expect(children.completed.values.sorted() == ["\"a1\"", "\"a2\""])
            #expect(children.pending.isEmpty)
            try await finish(fixture, middle[0])
            #expect(try await claim(fixture).map(\.name) == ["root"])
            #expect(try await fixture.queue.children(of: "none") == nil)
        }
    }

    @Test func `children may lie in another queue, whose own keys stay its own`() async throws {
        try await QueueFixture.run { fixture in
            let other = try QueueName(prefix: fixture.redis.prefix, name: "other")
            _ = try await fixture.queue.addFlow(
                FlowJob(
                    NewJob(name: "root", data: "{}", options: JobOptions(priority: 3)),
                    children: [FlowJob(NewJob(name: "child", data: "{}"), queue: other)]
                )
            )
            let queue = JobQueue(
                redis: fixture.redis.client,
                name: other,
                clock: fixture.clock,
                telemetry: Telemetry.silent()
            )
            let consumer = JobConsumer(
                queue: queue,
                redis: fixture.redis.client,
                blockingURL: fixture.redis.url,
                workerName: "w"
            )
            let child = try #require(try await consumer.claim(limit: 5).jobs.first)
            #expect(child.id == "1")
            _ = try await consumer.finish([FinishedJob(child.locked, .completed(returnvalue: "7"))])
            #expect(try await fixture.sortedSet("prioritized") == ["1"])
            #expect(try await fixture.events().suffix(1) == ["waiting jobId=1 prev=waiting-children"])
            #expect(try await fixture.score("marker", "0") == 0)
            await consumer.close()
        }
    }

    @Test(arguments: ParentRule.allCases)
    func `the failure of a child means what its rule says`(rule: ParentRule) async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.addFlow(
                node("root", children: [node("bad", JobOptions(onFailure: rule)), node("good")])
            )
            let children = try await claim(fixture)
            try await finish(fixture, children[0], failed: "why")
            let early = try await claim(fixture)
            #expect(early.map(\.name) == (rule == .failParent || rule == .continueParent ? ["root"] : []))
            #expect(early.first?.deferredFailure?.hasSuffix(":2 failed") == (rule == .failParent ? true : nil))
            try await finish(fixture, children[1])
            let late = try await claim(fixture)
            #expect((early + late).map(\.name) == ["root"])
            let known = try #require(try await fixture.queue.children(of: "1"))
            let key = fixture.queue.name.keyPrefix + "2"
            #expect(known.fatal == (rule == .failParent ? [key] : []))
            #expect(known.passedOver == (rule == .continueParent || rule == .ignoreFailure ? [key: "why"] : [:]))
        }
    }

    @Test func `a parent that is delayed or limited keeps its rules when its children ended`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.addFlow(
                node("root", JobOptions(delay: .seconds(9)), children: [node("child")])
            )
            let child = try #require(try await claim(fixture).first)
            try await finish(fixture, child)
            let due = QueueFixture.start.milliseconds + 9000
            #expect(try await fixture.score("delayed", "1") == due * 4096)
            #expect(try await fixture.score("marker", "1") == due)
            #expect(try await fixture.events().contains("delayed jobId=1 delay=\(due)"))
        }
    }

    @Test func `a child that fails makes a delayed parent fail at once`() async throws {
        try await QueueFixture.run { fixture in
            let parent = try await fixture.queue.addFlow(
                node("root", JobOptions(delay: .seconds(9)), children: [node("child")])
            )
            let child = try #require(try await claim(fixture).first)
            let reference = JobReference(queue: fixture.queue.name, id: parent.result.id)
            _ = try await fixture.queue.add(
                NewJob(name: "late", data: "{}", options: JobOptions(parent: reference, onFailure: .failParent))
            )
            try await finish(fixture, child)
            let late = try #require(try await claim(fixture).first)
            // By hand into the state that another client may leave: due later, with a child that is still open.
            _ = try await fixture.command("ZREM", fixture.key("waiting-children"), "1")
            _ = try await fixture.command("ZADD", fixture.key("delayed"), "9999999999999999", "1")
            try await finish(fixture, late, failed: "no")
            let root = try #require(try await claim(fixture).first)
            #expect(root.name == "root")
            #expect(root.deferredFailure != nil)
            #expect(try await fixture.hash("1")["delay"] == "0")
        }
    }

    @Test func `a parent without rule waits until the child was run again`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.addFlow(node("root", children: [node("child")]))
            try await finish(fixture, try #require(try await claim(fixture).first), failed: "no")
            #expect(try await claim(fixture).isEmpty)
            #expect(try await fixture.queue.retry("2") == .waiting)
            try await finish(fixture, try #require(try await claim(fixture).first))
            #expect(try await claim(fixture).map(\.name) == ["root"])
        }
    }

    @Test func `a retried child is given back to the parent that it made fail`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.addFlow(
                node("root", children: [node("child", JobOptions(onFailure: .failParent))])
            )
            try await finish(fixture, try #require(try await claim(fixture).first), failed: "no")
            try await finish(fixture, try #require(try await claim(fixture).first), failed: "child failed")
            #expect(try await fixture.queue.retry("2") == .waiting)
            let known = try #require(try await fixture.queue.children(of: "1"))
            #expect(known.pending == [fixture.queue.name.keyPrefix + "2"])
            #expect(known.fatal.isEmpty)
            // The parent, brought back as well, waits for it.
            #expect(try await fixture.queue.retry("1") == .waiting)
            #expect(try await fixture.queue.job("1")?.state == "waiting-children")
            try await finish(fixture, try #require(try await claim(fixture).first))
            let root = try #require(try await claim(fixture).first)
            #expect(root.deferredFailure == nil)
            try await finish(fixture, root)
        }
    }

    @Test func `a child that goes away holds its parent up no longer`() async throws {
        try await QueueFixture.run { fixture in
            _ = try await fixture.queue.addFlow(
                node("root", children: [node("a"), node("b", JobOptions(removeOnFail: .removeAtOnce))])
            )
            #expect(try await fixture.queue.remove("2") == .removed)
            #expect(try await fixture.sortedSet("waiting-children") == ["1"])
            try await finish(fixture, try #require(try await claim(fixture).first), failed: "no")
            #expect(try await claim(fixture).map(\.name) == ["root"])
        }
    }

    @Test func `a failed child that retention removes holds its parent up no longer`() async throws {
        let options = JobConsumer.Options(keptFailed: 1)
        try await QueueFixture.run(options: options) { fixture in
            _ = try await fixture.queue.addFlow(node("root", children: [node("child")]))
            try await finish(fixture, try #require(try await claim(fixture).first), failed: "no")
            try await fixture.addPlain(1)
            fixture.clock.advance(by: .milliseconds(1))
            try await finish(fixture, try #require(try await claim(fixture).first), failed: "no")
            #expect(try await claim(fixture).map(\.name) == ["root"])
        }
    }

    @Test func `removing a tree takes children in all queues along, unless one is held`() async throws {
        try await QueueFixture.run { fixture in
            let other = try QueueName(prefix: fixture.redis.prefix, name: "other")
            let tree = node(
                "root",
                children: [
                    node("a", children: [node("a1")]), FlowJob(NewJob(name: "b", data: "{}"), queue: other),
                ]
            )
            _ = try await fixture.queue.addFlow(tree)
            let held = try #require(try await claim(fixture).first)
            #expect(try await fixture.queue.remove("1", withChildren: true) == .locked)
            #expect(try await fixture.queue.counts().waitingChildren == 2)
            try await finish(fixture, held)
            #expect(try await fixture.queue.remove("1", withChildren: true) == .removed)
            let counts = try await fixture.queue.counts()
            #expect(counts == JobCounts())
            let left = try await fixture.command("KEYS", .string("\(other.keyPrefix)1*")).array
            #expect(left == [])
        }
    }

    @Test func `a child that ended long ago counts, and belongs to one parent only`() async throws {
        try await QueueFixture.run { fixture in
            let own = JobOptions(jobID: "shared")
            _ = try await fixture.queue.add(NewJob(name: "shared", data: "{}", options: own))
            try await finish(fixture, try #require(try await claim(fixture).first))
            let flow = try await fixture.queue.addFlow(node("root", children: [node("shared", own)]))
            #expect(flow.children[0].result == .duplicate(id: "shared"))
            #expect(try await claim(fixture).map(\.name) == ["root"])
            #expect(try await fixture.queue.children(of: flow.result.id)?.completed.values.first == "\"shared\"")

            let before = try await fixture.queue.counts()
            let error = await #expect(throws: JobQueueError.self) {
                try await fixture.queue.addFlow(node("second", children: [node("new"), node("shared", own)]))
            }
            #expect(error?.code == .parentConflict)
            #expect(try await fixture.queue.counts() == before)
        }
    }

    @Test func `one id twice under two parents of a tree is refused`() async throws {
        try await QueueFixture.run { fixture in
            let own = JobOptions(jobID: "twice")
            let error = await #expect(throws: JobQueueError.self) {
                try await fixture.queue.addFlow(
                    node("root", children: [node("a", children: [node("x", own)]), node("x", own)])
                )
            }
            #expect(error?.code == .parentConflict)
            let counts = try await fixture.queue.counts()
            #expect(counts == JobCounts())
        }
    }

    @Test func `a parent that does not exist is refused, an existing one gets the child`() async throws {
        try await QueueFixture.run { fixture in
            func child(of id: String) -> NewJob {
                NewJob(
                    name: "late",
                    data: "{}",
                    options: JobOptions(parent: JobReference(queue: fixture.queue.name, id: id))
                )
            }
            let error = await #expect(throws: JobQueueError.self) {
                try await fixture.queue.add(child(of: "none"))
            }
            #expect(error?.code == .missingParent)
            #expect(try await fixture.command("GET", fixture.key("id")).isNull)
            _ = try await fixture.queue.addFlow(node("root", children: [node("first")]))
            let late = try await fixture.queue.add(child(of: "1"))
            let pending = try await fixture.queue.children(of: "1")?.pending
            #expect(pending == [fixture.queue.name.keyPrefix + "2", fixture.queue.name.keyPrefix + late.id])
        }
    }

    @Test func `a tree that is too large or makes no sense is refused`() async throws {
        try await QueueFixture.run { fixture in
            let wide = node("root", children: (0..<1000).map { _ in node("c") })
            let marked = node("root", JobOptions(deduplication: Deduplication(id: "d")), children: [node("c")])
            let adopted = node(
                "root",
                children: [node("c", JobOptions(parent: JobReference(queue: fixture.queue.name, id: "9")))]
            )
            for flow in [wide, marked, adopted] {
                let error = await #expect(throws: JobQueueError.self) { try await fixture.queue.addFlow(flow) }
                #expect(error?.code == .invalidFlow)
            }
            let counts = try await fixture.queue.counts()
            #expect(counts == JobCounts())
        }
    }
}

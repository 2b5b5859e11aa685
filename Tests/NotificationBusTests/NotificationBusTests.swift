import JobQueue
import Kernel
import NotificationBus
import NotificationContract
import Notifications
import Observability
import RedisClient
import TestSupport
import Testing

struct NotificationBusTests {
    private let clock = FixedWallClock(Timestamp(milliseconds: 1_796_117_400_123))

    private func withBus(_ body: (NotificationBus, JobQueue) async throws -> Void) async throws {
        try await TestRedis.run { redis in
            let queue = JobQueue(
                redis: redis.client,
                name: try QueueName(prefix: redis.prefix, name: "notification-deliver"),
                clock: clock,
                telemetry: .silent()
            )
            let bus = NotificationBus(
                queue: queue,
                registry: .standard,
                ids: MessageIDGenerator(clock: clock),
                clock: clock
            )
            try await body(bus, queue)
        }
    }

    private func request(_ category: CategoryID, body: OperatorText = "Hi") throws -> NotificationRequest {
        let user = try #require(UserID("u1"))
        return NotificationRequest(job: NotificationJob(userID: user, category: category, text: .literal(body: body)))
    }

    @Test(arguments: [
        (CategoryID.lifecycle, "wait", "0"), (.reminder, "prioritized", "10"), (.campaign, "prioritized", "20"),
    ])
    func `a notification becomes a job of its category's priority, its id the message's (B1)`(
        category: CategoryID,
        state: String,
        priority: String
    ) async throws {
        try await withBus { bus, queue in
            let receipt = try await bus.enqueueNotification(request(category))
            let job = try #require(try await queue.job(receipt.jobID))
            #expect(receipt.jobID == receipt.messageID.description)
            #expect(receipt.messageID.instant == clock.now)
            #expect(job.state.hasPrefix(state))
            #expect(job.fields["name"] == "notification")
            #expect(job.fields["priority"] == priority)
            #expect(job.fields["data"] == #"{"userId":"u1","category":"\#(category)","body":"Hi"}"#)
        }
    }

    @Test func `a schedule becomes a delay from one clock reading, the past means now (B1)`() async throws {
        try await withBus { bus, queue in
            var later = try request(.lifecycle)
            later.scheduledFor = clock.now + .milliseconds(90_001)
            let delayed = try #require(try await queue.job(try await bus.enqueueNotification(later).jobID))
            #expect(delayed.fields["timestamp"] == "1796117400123")
            #expect(delayed.fields["delay"] == "90001")
            #expect(
                MessageID(delayed.id)?.instant == clock.now + .milliseconds(90_001),
                "the id's month is the due one"
            )
            later.scheduledFor = clock.now - .seconds(60)
            let now = try #require(try await queue.job(try await bus.enqueueNotification(later).jobID))
            #expect(now.fields["delay"] == "0")
        }
    }

    @Test func `the same message id enters the queue once`() async throws {
        try await withBus { bus, queue in
            var repeated = try request(.lifecycle)
            repeated.messageID = MessageIDGenerator(clock: clock).next()
            let first = try await bus.enqueueNotification(repeated)
            let second = try await bus.enqueueNotification(repeated)
            #expect(!first.isDuplicate && second.isDuplicate)
            let counts = try await queue.counts()
            #expect(counts.waiting == 1)
        }
    }

    @Test func `one bad notification among many keeps all out, and is named`() async throws {
        try await withBus { bus, queue in
            var requests = try [request(.lifecycle), request(CategoryID("spam")), request(.lifecycle, body: " ")]
            requests[0].scheduledFor = clock.now + NotificationLimits.horizon + .milliseconds(1)
            requests[2].priority = 0
            let error = await #expect(throws: FieldProblems.self) { _ = try await bus.enqueueNotifications(requests) }
            #expect(
                error?.problems.map(\.pointer) == [
                    "/notifications/0/scheduledFor", "/notifications/1/category", "/notifications/2/body",
                    "/notifications/2/priority",
                ]
            )
            let counts = try await queue.counts()
            #expect(counts.ready == 0 && counts.delayed == 0)
        }
    }
}

struct MessageIdentityTests {
    private let identity = MessageIdentity(prefix: "bull", queue: "q") { bytes in
        // A stand-in that keeps different inputs apart; the services pass SHA-256.
        (0..<32).map { index in bytes.reduce(UInt8(index)) { $0 &* 31 &+ $1 } }
    }
    private let due = Timestamp(milliseconds: 1_796_117_400_123)

    @Test func `a job id that is a message id is taken as it is`() {
        let id = MessageID(at: due, entropy: [1, 2, 3])
        #expect(identity.messageID(jobID: id.description, timestamp: due, due: due) == id)
    }

    @Test func `a foreign id gives the same message id on every run, with the due time in front`() {
        let first = identity.messageID(jobID: "42", timestamp: due - .seconds(60), due: due)
        #expect(first == identity.messageID(jobID: "42", timestamp: due - .seconds(60), due: due))
        #expect(first.instant == due)
        #expect(first != identity.messageID(jobID: "43", timestamp: due - .seconds(60), due: due))
        #expect(first != identity.messageID(jobID: "42", timestamp: due - .seconds(61), due: due))
    }

    @Test func `an id of the weeks around its due time is kept, whenever it was queued`() {
        let created = due - .seconds(89 * 86_400)
        for days in [-27, -1, 0, 27] {
            let id = MessageID(at: due + .seconds(days * 86_400), entropy: [9])
            #expect(identity.messageID(jobID: id.description, timestamp: created, due: due) == id)
        }
    }

    @Test func `an id far from its due time is derived, because its month may have no table`() {
        // The second was made when a notification was queued for 75 days ahead: in a young database that month has no table.
        for (instant, created) in [
            (due - .seconds(300 * 86_400), due), (due - .seconds(75 * 86_400), due - .seconds(75 * 86_400)),
            (due + .seconds(28 * 86_400), due),
        ] {
            let id = MessageID(at: instant, entropy: [1]).description
            #expect(identity.messageID(jobID: id, timestamp: created, due: due).instant == due)
        }
    }
}

package import JobQueue
package import Kernel
package import NotificationBus
package import Notifications
package import Observability
package import Store

/// Hands a campaign's chunks to the delivery queue: the handler of the queue `campaign-fanout`.
///
/// A chunk that is handed over twice changes nothing, because its message ids are the same. So it is marked only afterwards, and
/// whoever dies in between is made good by the next.
package struct CampaignFanOut: Sendable {
    /// The queue of chunks.
    package static let queueName = "campaign-fanout"
    private static let jobName = "campaign-chunk"

    private let store: CampaignFanOutStore
    private let messages: CampaignMessages
    private let bus: NotificationBus
    private let delivery: JobQueue
    private let highWater: Int
    private let window: DeliveryWindow
    private let clock: any WallClock
    private let enqueued: Counter
    private let held: Counter

    /// - Parameters:
    ///   - delivery: the queue that the bus fills.
    ///   - highWater: with more jobs than this ready there, chunks wait.
    ///   - window: the campaigns' delivery window. Chunks of one zone wait for it here; the engine waits for it with single users.
    package init(
        store: CampaignFanOutStore,
        messages: CampaignMessages,
        bus: NotificationBus,
        delivery: JobQueue,
        highWater: Int,
        window: DeliveryWindow,
        clock: any WallClock = SystemWallClock(),
        telemetry: Telemetry
    ) {
        self.store = store
        self.messages = messages
        self.bus = bus
        self.delivery = delivery
        self.highWater = highWater
        self.window = window
        self.clock = clock
        enqueued = telemetry.metrics.counter(
            "campaign_enqueued_total",
            help: "Notifications of campaigns that were handed to the queue."
        )
        held = telemetry.metrics.counter(
            "campaign_chunks_held_total",
            help: "How often a chunk waited for the queue to be worked off, its campaign's pace, or its hours."
        )
    }

    /// The job that asks for a chunk. It leaves the queue when it is done, so that the chunk can be asked for again.
    package static func job(_ reference: CampaignFanOutStore.ChunkReference) -> NewJob {
        NewJob(
            name: jobName,
            data: JSONValue.object([
                JSONMember("campaignId", .string(reference.campaign.description)),
                JSONMember("chunk", .integer(reference.chunk)),
            ])
            .text,
            options: JobOptions(
                jobID: "cmp-\(reference.campaign)-\(reference.chunk)",
                removeOnComplete: .removeAtOnce,
                removeOnFail: .removeAtOnce
            )
        )
    }

    /// What the data of such a job asks for.
    package static func reference(_ data: JSONValue) throws(UnrecoverableFailure) -> CampaignFanOutStore.ChunkReference
    {
        guard let id = data["campaignId"]?.stringValue.flatMap({ CampaignID($0) }),
            let chunk = data["chunk"]?.integerValue, let number = Int(exactly: chunk), number >= 0
        else { throw UnrecoverableFailure("the data names no campaign and chunk") }
        return CampaignFanOutStore.ChunkReference(campaign: id, chunk: number)
    }

    /// Handles a job of the queue of chunks.
    /// - Throws: `DelayedJob` while the delivery queue is full, the campaign's pace forbids it, or a server is away.
    package func handle(_ context: JobContext) async throws -> String {
        let reference = try Self.reference(try context.value())
        do {
            let count = try await perform(reference)
            return JSONValue.object([JSONMember("enqueued", .integer(count))]).text
        } catch let error as JobQueueError where error.code == .redis {
            throw DelayedJob(until: clock.now + .seconds(1))
        }
    }

    /// Hands one chunk over.
    /// - Returns: how many notifications; 0 when there was nothing left to do.
    package func perform(_ reference: CampaignFanOutStore.ChunkReference) async throws -> Int {
        // Asked before anything that costs: while workers lag, chunks wait here by the hundred.
        if try await delivery.counts().ready > highWater {
            held.increment()
            throw DelayedJob(until: clock.now + .seconds(1))
        }
        guard let chunk = try await store.chunk(reference, window) else { return 0 }
        if let opensAt = chunk.opensAt {
            held.increment()
            try await store.postpone(reference, until: opensAt)
            return 0
        }
        if let pace = chunk.campaign.content.pace {
            let time = Duration.milliseconds(chunk.users * 60_000 / max(pace, 1))
            if let until = try await store.takePlace(of: reference.campaign, for: time) {
                held.increment()
                throw DelayedJob(until: max(until, clock.now + .milliseconds(100)))
            }
        }
        let requests = try await store.recipients(of: reference).map { recipient in
            messages.request(
                chunk.campaign,
                for: recipient.user,
                language: recipient.language,
                startedAt: chunk.startedAt,
                due: chunk.dueAt
            )
        }
        let receipts = try await bus.enqueueNotifications(requests)
        try await store.finish(reference)
        enqueued.increment(by: receipts.count { !$0.isDuplicate })
        return requests.count
    }
}

import DeliveryAdapters
import DeliveryEngine
import Foundation
import GatewayAPI
import HTTPServer
import JobQueue
import Kernel
import NotificationBus
import NotificationContract
import Notifications
import Observability
import PostgresClient
import Producers
import PushSimulator
import RedisClient
import Signing
import Store
import TestSupport
import Testing

/// A category that this program does not know, added by the three files of the folder Mirror and nothing else: through the gateway and
/// a producer, the queue, the engine with its gates and caps, to the phone and into the inbox.
@Suite(.timeLimit(.minutes(1)))
struct NewCategoryTests {
    private struct Quiet: TextChooser {
        func choose(_ occasion: TextOccasion) async throws -> String { "mirror.quiet" }
    }

    private let registry = CategoryRegistry(CategoryRegistry.standard.all + [.mirror])
    private let catalog: Catalog
    /// No other run has taken their weekly slots in the shared Redis.
    private let first = "first-\(UInt64.random(in: 0...UInt64.max))"
    private let second = "second-\(UInt64.random(in: 0...UInt64.max))"
    private let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Mirror")

    init() throws {
        let texts = try String(contentsOf: folder.appendingPathComponent("mirror.json"), encoding: .utf8)
        catalog = try Catalog.standard(appName: "App", adding: [(name: "mirror.json", text: texts)])
    }

    @Test func `a new category takes three files and goes from producer to phone and inbox (C1, C3)`()
        async throws
    {
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 3)
        try await DirectStage.run(registry: registry, catalog: catalog, clock: SystemWallClock()) { stage in
            let fixture = stage.fixture
            fixture.clock.advance(by: SystemWallClock().now - fixture.clock.now)
            try await register(first, at: noonZone(), stage)
            let engine = try engine(stage)
            let stop = BoundedChannel<Void>(capacity: 1)
            let running = Task { await engine.run { _ = await stop.receive() } }
            let result: Result<Void, any Error>
            do { result = .success(try await use(stage)) } catch { result = .failure(error) }
            stop.finish()
            await running.value
            try result.get()
        }
    }

    private func use(_ stage: DirectStage) async throws {
        let fixture = stage.fixture
        let settings = try await fixture.user(.get, "/api/v1/notifications/categories", as: first)
        let shown = settings.data["categories"]?.arrayValue?.first { $0["id"] == "mirror" }
        #expect(shown?["name"] == "Speil", "\(settings.text)")

        // From a backend, over HTTP.
        let order: JSONValue = [
            "userId": .string(first), "category": "mirror", "text": ["key": "mirror.week", "variables": [:]],
        ]
        #expect(try await fixture.service(.post, "/api/v1/notifications", order).status == 202)
        try await ends(1, stage)
        // From a producer of this package.
        let user = try #require(UserID(first))
        let text = ChosenText(
            chooser: Quiet(),
            catalog: catalog,
            template: "mirror.week",
            deadline: .seconds(60),
            telemetry: .silent()
        )
        let bus = NotificationBus(
            queue: JobQueue(redis: stage.live.redis.client, name: stage.live.queue, telemetry: .silent()),
            registry: registry,
            ids: MessageIDGenerator(clock: SystemWallClock())
        )
        _ = try await MirrorProducer(bus: bus, text: text).say(to: user)
        try await ends(2, stage)
        // Two a week are allowed.
        #expect(try await fixture.service(.post, "/api/v1/notifications", order).status == 202)
        try await ends(3, stage)
        // Switched off by the user.
        try await register(second, at: noonZone(), stage)
        let off: JSONValue = ["categories": ["mirror": ["enabled": false]]]
        let changed = try await fixture.user(.patch, "/api/v1/notifications/preferences", off, as: second)
        #expect(changed.status == 200, "\(changed.text)")
        var other = order.members ?? []
        other[0] = JSONMember("userId", .string(second))
        #expect(try await fixture.service(.post, "/api/v1/notifications", .object(other)).status == 202)
        try await ends(4, stage)

        let pushes = try stage.simulator.pushes().sorted { $0.receivedAt < $1.receivedAt }
            .map { try JSONValue(parsing: $0.body) }
        #expect(
            pushes.map { $0["aps"]?["alert"] ?? .null } == [
                ["title": "Et tilbakeblikk", "body": "Uken din i App er klar."],
                ["title": "Et tilbakeblikk", "body": "En rolig uke. Ta en titt."],
            ]
        )
        #expect(pushes.allSatisfy { $0["aps"]?["category"] == "mirror" && $0["deeplinkUrl"] == "im://mirror" })
        let reasons = try await stage.live.lines(
            "SELECT user_id || ' ' || reason AS line FROM notification_events WHERE kind = 'suppressed' ORDER BY id"
        )
        #expect(reasons == ["\(first) cap_category", "\(second) category_off"])
        let inbox = try await fixture.user(.get, "/api/v2/notifications", as: first)
        #expect(inbox.data["list"]?.arrayValue?.map { $0["category"] } == ["mirror", "mirror"])
    }

    /// Waits until so many jobs are over.
    private func ends(_ count: Int, _ stage: DirectStage) async throws {
        let queue = JobQueue(redis: stage.live.redis.client, name: stage.live.queue, telemetry: .silent())
        while try await queue.counts().completed < count {
            try Task.checkCancellation()
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    private func register(_ user: String, at zone: String, _ stage: DirectStage) async throws {
        try await stage.addDevice(
            user,
            "phone",
            [
                JSONMember("token", .string(DirectStage.token(user == first ? "a1" : "a2"))),
                JSONMember("timezone", .string(zone)),
            ]
        )
        let language: JSONValue = ["language": "nb-NO"]
        #expect(
            try await stage.fixture.user(.patch, "/api/v1/notifications/preferences", language, as: user).status == 200
        )
    }

    /// A zone in which it is between noon and one now: the category's window is open there.
    private func noonZone() -> String {
        let hour = Int(SystemWallClock().now.seconds % 86_400 / 3600)
        let east = 12 - hour
        // The names count the other way round.
        return east == 0 ? "Etc/GMT" : "Etc/GMT\(east > 0 ? "-" : "+")\(abs(east))"
    }

    private func engine(_ stage: DirectStage) throws -> DeliveryEngine {
        let (live, pool) = (stage.live, stage.live.database.pool)
        let queue = JobQueue(redis: live.redis.client, name: live.queue, telemetry: .silent())
        let consumer = JobConsumer(
            queue: queue,
            redis: live.redis.client,
            blockingURL: live.redis.url,
            workerName: "test",
            options: JobConsumer.Options()
        )
        return DeliveryEngine(
            ports: EnginePorts(
                jobs: QueueAdapter(consumer: consumer, claims: ClaimClock()),
                recipients: RecipientAdapter(store: RecipientStore(pool: pool)),
                caps: CapAdapter(limiter: live.limiter),
                messages: MessageAdapter(store: MessageStore(pool: pool)),
                push: PushAdapter(transport: stage.transport),
                outcomes: OutcomeAdapter(store: OutcomeStore(pool: pool), telemetry: .silent()),
                tokens: TokenAdapter(store: DeviceStore(pool: pool)),
                statistics: StatisticsAdapter(redis: live.redis.client, telemetry: .silent()),
                upkeep: UpkeepAdapter(store: UpkeepStore(pool: pool)),
                slotDebts: SlotDebtAdapter(store: SlotDebtStore(pool: pool))
            ),
            registry: registry,
            catalog: catalog,
            parser: NotificationParser(registry: registry, catalog: catalog, deeplinkSchemes: ["im"]),
            identity: MessageIdentity(prefix: live.queue.prefix, queue: live.queue.name) { SHA256.hash($0) },
            telemetry: .silent()
        )
    }

    @Test func `where it is not registered it is refused with the known ones listed (C3)`() {
        let error = #expect(throws: CategoryRegistry.UnknownCategory.self) {
            _ = try CategoryRegistry.standard.category(CategoryID("mirror"))
        }
        #expect(error?.known == ["reminder", "lifecycle", "campaign"])
    }
}

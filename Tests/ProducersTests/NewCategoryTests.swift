import DeliveryEngine
import Foundation
import JobQueue
import Kernel
import NotificationBus
import NotificationContract
import Notifications
import Observability
import Producers
import TestSupport
import Testing

/// A category that this program does not know, added by the three files of the folder Mirror and nothing else.
struct NewCategoryTests {
    private struct Quiet: TextChooser {
        func choose(_ occasion: TextOccasion) async throws -> String { "mirror.quiet" }
    }

    private let registry = CategoryRegistry(CategoryRegistry.standard.all + [.mirror])
    private let catalog = Catalog(texts: mirrorTexts, appName: "App")

    @Test func `a new category takes three files and goes from producer to push without a change elsewhere (C1, C3)`()
        async throws
    {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Mirror")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 3)
        let user = try #require(UserID("u"))
        try await TestRedis.run { redis in
            let queue = JobQueue(
                redis: redis.client,
                name: try QueueName(prefix: redis.prefix, name: "notification-deliver"),
                telemetry: .silent()
            )
            let clock = SystemWallClock()
            let bus = NotificationBus(queue: queue, registry: registry, ids: MessageIDGenerator(clock: clock))
            let text = ChosenText(
                chooser: Quiet(),
                catalog: catalog,
                template: "mirror.week",
                deadline: .seconds(60),
                telemetry: .silent()
            )
            let receipt = try await MirrorProducer(bus: bus, text: text).say(to: user)
            let stored = try #require(try await queue.job(receipt.jobID))
            #expect(stored.fields["priority"] == "10")

            // What the engine does with the job, gate by gate.
            let parser = NotificationParser(registry: registry, catalog: catalog, deeplinkSchemes: ["im"])
            let data = try #require(stored.fields["data"])
            let job = try parser.parse(JSONValue(parsing: data))
            let category = try registry.category(job.category)
            let now = clock.now
            func verdict(_ change: (inout Recipient) -> Void) -> String? {
                var recipient = Recipient(isPermissionGranted: true, localMinute: 12 * 60)
                recipient.devices = [
                    RecipientDevice(
                        id: 1,
                        provider: .apns,
                        token: "aa",
                        environment: .production,
                        topic: "app",
                        registeredAt: now
                    )
                ]
                change(&recipient)
                let candidate = GateCandidate(
                    category: category,
                    messageID: receipt.messageID,
                    due: now,
                    recipient: recipient
                )
                return GateChain.judge(candidate, now: now)?.gate
            }
            #expect(verdict { _ in } == nil)
            #expect(verdict { $0.categorySwitch = false } == "category")
            #expect(verdict { $0.localMinute = 8 * 60 + 59 } == "window")
            #expect(category.maxPerWeek == 2 && category.countsTowardGlobalCap)

            let words = catalog.pushText(job.text, title: job.title, category: category, locale: .norwegian)
            let payload = try PushPayload.alert(
                text: words,
                category: category,
                messageID: receipt.messageID,
                deeplinkURL: category.defaultDeeplink,
                entityID: nil
            )
            let push = try JSONValue(parsing: String(decoding: payload, as: UTF8.self))
            #expect(push["aps"]?["category"] == "mirror")
            #expect(push["aps"]?["alert"] == ["title": "Et tilbakeblikk", "body": "En rolig uke. Ta en titt."])
            #expect(push["deeplinkUrl"] == "im://mirror")
        }
    }

    @Test func `where it is not registered it is refused with the known ones listed (C3)`() {
        let error = #expect(throws: CategoryRegistry.UnknownCategory.self) {
            _ = try CategoryRegistry.standard.category(CategoryID("mirror"))
        }
        #expect(error?.known == ["reminder", "lifecycle", "campaign"])
    }
}

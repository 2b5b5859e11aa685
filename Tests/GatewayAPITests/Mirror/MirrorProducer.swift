import NotificationBus
import NotificationContract
import Notifications
import Producers

/// The third file, beside `mirror.json` with its texts: its producer, which lets a model choose between the texts.
struct MirrorProducer {
    let bus: NotificationBus
    let text: ChosenText

    func say(to user: UserID) async throws -> EnqueueReceipt {
        let category = CategoryID("mirror")
        let occasion = TextOccasion(userID: user, category: category, candidates: ["mirror.week", "mirror.quiet"])
        let key = await text.key(for: occasion)
        return try await bus.enqueueNotification(
            NotificationRequest(
                job: NotificationJob(userID: user, category: category, text: .catalog(key: key, variables: [:]))
            )
        )
    }
}

import Kernel
import NotificationContract
import Notifications
import Testing

@testable import DeliveryEngine

extension ParsedJob {
    /// A job of user `u` that was just enqueued.
    static func example(
        _ category: CategoryID,
        text: NotificationText = .literal(body: "x"),
        at now: Timestamp,
        claims: Int = 1,
        deferredFailure: String? = nil,
        hasForeignWords: Bool = false
    ) throws -> ParsedJob {
        ParsedJob(
            job: LeasedJob(
                id: "1",
                token: "t",
                data: "",
                timestamp: now,
                delay: .zero,
                attemptsStarted: claims,
                attemptsLimit: nil,
                deferredFailure: deferredFailure
            ),
            messageID: MessageID(at: now, entropy: []),
            content: NotificationJob(userID: try #require(UserID("u")), category: category, text: text),
            category: try CategoryRegistry.standard.category(category),
            enqueuedAt: now,
            due: now,
            hasForeignWords: hasForeignWords
        )
    }
}

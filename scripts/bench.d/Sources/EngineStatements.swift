import Kernel
import NotificationContract
import Notifications
import PostgresClient
import Store

/// The three statements of the pipeline for one group, the values that the worker would bind included.
struct EngineStatements {
    static let size = 256

    /// The values of all three, in order.
    let parameters: [String?]
    /// The statements for pgbench: `$1` of the first is `:p1`.
    let script: String

    /// - Parameters:
    ///   - index: the number of the group's first notification.
    ///   - recipient: user and category of a number.
    init(
        index: Int,
        recipient: (Int) -> (user: String, category: CategoryID),
        ids: MessageIDGenerator
    ) async throws {
        let now = SystemWallClock().now
        let members = try (index..<index + Self.size).map { number in
            let (name, category) = recipient(number)
            guard let user = UserID(name) else { throw BenchError(description: "no user \(name)") }
            return (id: ids.next(), user: user, category: category)
        }
        let queries = members.map { member in
            RecipientStore.Query(
                messageID: member.id,
                userID: member.user,
                category: member.category.rawValue,
                sourceEntityID: nil,
                enqueuedAt: now,
                openingMinute: member.category == .lifecycle ? nil : 480
            )
        }
        // Nine of ten pass the gates.
        let passed = members.enumerated().filter { $0.offset % 10 != 0 }.map(\.element)
        let rows = passed.map { member in
            MessageStore.Row(
                id: member.id,
                userID: member.user,
                category: member.category.rawValue,
                title: "Impulse AI",
                body: "Have you checked in with yourself today?",
                deeplinkURL: "im://home?source=notification",
                metadata: nil,
                sourceEntityID: nil,
                batchReference: nil,
                language: "en",
                jobID: member.id.description,
                weekKey: "2026-W49",
                isCapOpen: false,
                enqueuedAt: now,
                dueAt: now
            )
        }
        let records = members.enumerated().map { offset, member in
            let isSent = offset % 10 != 0
            func event(_ kind: DeliveryEvent.Kind) -> DeliveryEvent {
                DeliveryEvent(
                    kind: kind,
                    messageID: member.id,
                    userID: member.user.rawValue,
                    category: member.category.rawValue,
                    jobID: member.id.description,
                    attemptsStarted: 1,
                    attempt: kind == .sent ? 1 : 0,
                    at: now,
                    device: kind == .sent ? "1:00000000…" : nil,
                    detail: kind == .sent ? ["sendMilliseconds": 5] : nil
                )
            }
            return OutcomeStore.Record(
                messageID: member.id,
                userID: member.user.rawValue,
                category: member.category.rawValue,
                status: isSent ? .sent : nil,
                reason: nil,
                deliveries: isSent ? [1: DeviceDelivery(state: .accepted, attempts: 1)] : [:],
                acceptedAt: isSent ? now : nil,
                clearsWeek: false,
                events: [event(.enqueued), event(isSent ? .sent : .suppressed)]
            )
        }
        let statements = [
            RecipientStore.statement(queries), MessageStore.insert(rows[...]), OutcomeStore.statement(records[...]),
        ]
        parameters = statements.flatMap(\.parameters)
        var offset = 0
        var texts: [String] = []
        for statement in statements {
            var text = statement.text
            // From the last, so that $1 does not meet $12.
            for number in stride(from: statement.parameters.count, through: 1, by: -1) {
                text = text.replacing("$\(number)::", with: ":p\(offset + number)::")
            }
            offset += statement.parameters.count
            texts.append(text + ";")
        }
        script = texts.joined(separator: "\n")
    }
}
